// The page: signs in, chooses the view that the address names, and passes it the events of the server.
import { Api, explain } from './api.js';
import { field, h, setError, setText } from './dom.js';
import { fleetView } from './fleet.js';
import { inspectorView } from './inspector.js';
import { keysView, RecentNames } from './keys.js';
import { parseLink } from './links.js';
import { overridesView } from './overrides.js';
import { EventStream } from './stream.js';
import { trafficView } from './traffic.js';

// Each view, and the permission without which it has nothing to show.
const kViews = {
  traffic: [trafficView, 'read_metrics'],
  keys: [keysView, 'read_keys'],
  inspect: [inspectorView, 'limit'],
  overrides: [overridesView, 'read_override'],
  fleet: [fleetView, 'read_metrics'],
};

const kStates = {
  connecting: 'connecting',
  live: 'live',
  paused: 'paused',
  retrying: 'reconnecting',
  refused: 'no live data',
};

const main = document.getElementById('main');
const nav = document.getElementById('nav');
const live = document.getElementById('live');
const node = document.getElementById('node');
const signOut = document.getElementById('sign-out');
const announcer = h('p', { class: 'toast', role: 'status', hidden: true });
document.body.append(announcer);

const api = new Api();
let caller = null;
let view = null;
let stream = null;
let clock = 0;
let hideAnnouncement = 0;

const context = {
  api,
  namespaces: new RecentNames(), // that were seen, to choose from
  localNamespaces: new RecentNames(), // of these, the ones with traffic at this node, which it surely knows
  may: permission => caller.permissions.includes(permission),
  coversAll: () => caller.namespaces.includes('*'),
  navigate: link => {
    if (location.hash === link) showView();
    else location.hash = link;
  },
  announce: text => {
    setText(announcer, text);
    announcer.hidden = false;
    clearTimeout(hideAnnouncement);
    hideAnnouncement = setTimeout(() => {
      announcer.hidden = true;
    }, 5000);
  },
};

function showState(state) {
  live.dataset.state = state;
  setText(live, kStates[state] ?? '');
}

function refusedView(permission) {
  return {
    title: 'Not permitted',
    onSecond: () => {},
    element: h(
      'div',
      { class: 'view' },
      h('div', { class: 'view-head' }, h('h1', {}, 'Not permitted')),
      h('p', { class: 'problem', role: 'alert' }, `Your token lacks the permission ${permission}.`),
    ),
  };
}

function showView() {
  if (caller === null) return;
  const { view: named, values } = parseLink(location.hash);
  const name = Object.hasOwn(kViews, named) ? named : 'traffic';
  const [create, permission] = kViews[name];
  const isFirst = view === null;
  view = context.may(permission) ? create(context, values) : refusedView(permission);
  main.replaceChildren(view.element);
  document.title = `${view.title} · Sluice`;
  for (const link of nav.children) {
    if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (isFirst) return;
  const heading = view.element.querySelector('h1');
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function onEvent(event) {
  for (const { namespace } of event.traffic.namespaces) {
    context.namespaces.add(namespace);
    context.localNamespaces.add(namespace);
  }
  for (const { namespace } of event.topKeys?.keys ?? []) context.namespaces.add(namespace);
  const { status } = event;
  setText(node, [status.region, status.node, status.version].filter(Boolean).join(' · '));
  view?.onSecond(event);
}

// Without permission for the stream, the views that can do without it are still refreshed.
function startClock() {
  clearInterval(clock);
  clock = setInterval(() => {
    if (!document.hidden && view !== null && view.title !== 'Traffic') view.onSecond();
  }, 1000);
}

function start(known) {
  caller = known;
  nav.hidden = false;
  signOut.hidden = !caller.tokensRequired;
  for (const each of caller.namespaces) if (!each.includes('*')) context.namespaces.add(each);
  showView();
  stream = new EventStream(api, {
    onEvent,
    onState: (state, error) => {
      showState(state);
      if (state === 'refused' && error.status === 401) end('The token is no longer valid.');
      else if (state === 'refused') startClock();
    },
  });
  stream.start();
}

function end(why) {
  stream?.stop();
  clearInterval(clock);
  stream = view = caller = null;
  api.signOut();
  for (const dialog of document.querySelectorAll('dialog')) dialog.remove();
  announcer.hidden = true;
  context.namespaces.clear();
  context.localNamespaces.clear();
  nav.hidden = signOut.hidden = true;
  setText(node, '');
  showState('');
  signIn(why);
}

function signIn(why) {
  const token = h('input', {
    id: 'token',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
  });
  const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');
  const form = h(
    'form',
    { class: 'card sign-in', novalidate: true },
    h('h1', {}, 'Sign in'),
    h('p', { class: 'hint' }, 'The token stays in this page’s memory: reloading the page forgets it.'),
    field('Token', token),
    button,
  );
  form.addEventListener('submit', async event => {
    event.preventDefault();
    const text = token.value.trim();
    if (!/^[\x21-\x7e]+$/.test(text)) return setError(token, 'Paste a token: printable ASCII without spaces.');
    api.signIn(text);
    button.disabled = true;
    let known;
    try {
      known = await api.get('/v2/node.caller');
    } catch (error) {
      api.signOut();
      button.disabled = false;
      setError(token, error.status === 401 ? 'This token is not valid.' : explain(error));
      token.select();
      return;
    }
    start(known);
  });
  document.title = 'Sign in · Sluice';
  main.replaceChildren(form);
  if (why) setError(token, why);
  token.focus();
}

async function begin() {
  let known;
  try {
    known = await api.get('/v2/node.caller');
  } catch (error) {
    if (error.status === 401) return signIn();
    main.replaceChildren(h('div', { class: 'view' }, h('p', { class: 'problem', role: 'alert' }, explain(error))));
    setTimeout(begin, 2000);
    return;
  }
  start(known);
}

signOut.addEventListener('click', () => end());
addEventListener('hashchange', showView);
begin();
