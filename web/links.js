// Addresses of the views, in the fragment, which is never sent to the server.
import { durationText } from './format.js';

export const linkTo = (view, values = {}) => {
  const parameters = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== ''));
  const query = parameters.toString();
  return `#${view}${query && `?${query}`}`;
};

// The view and its parameters in the fragment of an address.
export function parseLink(hash) {
  const [view, query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  return { view, values: Object.fromEntries(new URLSearchParams(query)) };
}

// The inspector for a key of topKeys.
export const inspectLink = ({ namespace, identifier, duration, limit }) =>
  linkTo('inspect', { namespace, identifier, duration: durationText(duration), limit });
