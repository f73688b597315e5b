// Dialogs that create, change and delete an override.
import { ApiError, explain } from './api.js';
import { field, h, setError, setText } from './dom.js';
import { durationText, parseDuration } from './format.js';

const kMaxNumber = 2 ** 53 - 1;
const kMaxDuration = 366 * 86_400_000;

// A modal dialog with a form, which returns the focus when it is closed.
function openDialog({ title, body, submit, submitClass, act }) {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const button = h('button', { type: 'submit', class: submitClass }, submit);
  const heading = h('h2', { id: 'dialog-title' }, title);
  const form = h('form', { novalidate: true }, heading, body, problem,
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel'), button));
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    const message = await act();
    button.disabled = false;
    if (message === null) return dialog.close();
    if (message === undefined) return;
    problem.hidden = false;
    setText(problem, message);
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function wholeNumber(text, max = kMaxNumber) {
  const number = Number(text);
  return /^\d+$/.test(text.trim()) && number <= max ? number : NaN;
}

export const kLimitRule = 'a whole number from 0 to 9007199254740991';
export const kDurationRule = '1s to 366d, such as 60s, 10m or 1h';
export const isDuration = ms => ms >= 1000 && ms <= kMaxDuration;

// Edits `override`, {namespace, identifier, limit, duration}, of which any may be missing. With `isNew` the name may be
// edited as well. Calls `onSaved` once the server has stored it.
export function editOverride({ api }, { override, isNew, onSaved }) {
  const input = (id, value, attributes = {}) => h('input', { id, value: value ?? '', type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes });
  const inputs = {
    namespace: input('edit-namespace', override.namespace, { readonly: !isNew, maxlength: 512 }),
    identifier: input('edit-identifier', override.identifier, { readonly: !isNew, maxlength: 512, class: 'mono' }),
    limit: input('edit-limit', override.limit, { inputmode: 'numeric' }),
    duration: input('edit-duration', override.duration === undefined ? '' : durationText(override.duration)),
  };
  const fields = [field('Namespace', inputs.namespace),
    field('Identifier', inputs.identifier, isNew ? 'An identifier, or a pattern: * matches any text.' : undefined),
    h('div', { class: 'field-row' }, field('Limit', inputs.limit, '0 denies every request.'),
      field('Duration', inputs.duration, kDurationRule))];

  const read = () => {
    const values = { namespace: inputs.namespace.value, identifier: inputs.identifier.value,
      limit: wholeNumber(inputs.limit.value), duration: parseDuration(inputs.duration.value) };
    const errors = { namespace: values.namespace === '' && 'Name a namespace.', identifier: values.identifier === '' && 'Name an identifier or a pattern.',
      limit: Number.isNaN(values.limit) && `Allowed: ${kLimitRule}.`, duration: !isDuration(values.duration) && `Allowed: ${kDurationRule}.` };
    for (const [name, each] of Object.entries(inputs)) setError(each, errors[name]);
    const wrong = Object.keys(inputs).find(name => errors[name]);
    inputs[wrong]?.focus();
    return wrong === undefined ? values : null;
  };

  openDialog({
    title: isNew ? 'New override' : 'Change override', body: fields, submit: 'Save', submitClass: 'primary',
    act: async () => {
      const values = read();
      if (values === null) return undefined;
      try {
        await api.post('setOverride', values);
      } catch (error) {
        for (const { location, message } of error instanceof ApiError ? error.fields : []) {
          const wrong = inputs[location.replace('body.', '')];
          if (wrong) setError(wrong, message);
        }
        return explain(error);
      }
      onSaved(values);
      return null;
    },
  });
  (isNew && !override.identifier ? (override.namespace ? inputs.identifier : inputs.namespace) : inputs.limit).select();
}

export function deleteOverride({ api }, { override, onDeleted }) {
  openDialog({
    title: 'Delete this override?',
    body: h('p', {}, 'Requests of ', h('span', { class: 'identifier' }, override.identifier), ' in ',
      h('span', { class: 'identifier' }, override.namespace), ' will have the limit that they name themselves.'),
    submit: 'Delete', submitClass: 'danger',
    act: async () => {
      try {
        await api.post('deleteOverride', { namespace: override.namespace, identifier: override.identifier });
      } catch (error) {
        return explain(error);
      }
      onDeleted();
      return null;
    },
  });
}
