// Elements built from code. Text is set as text and never parsed as HTML, so that identifiers can hold anything.

const SVG = 'http://www.w3.org/2000/svg';

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== undefined && child !== null && child !== false));
  return element;
}

// Returns an element. Attributes that begin with `on` are listeners; those that are false or missing are left out.
export const h = (tag, attributes = {}, ...children) => build(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, tag), attributes, children);

// Sets the text of a node, without touching the document where it is the same.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Keeps the children of `parent` in step with `items`: a child is created once for each key, updated in place and
// moved, so that focus and selection stay where they are. Keys should be unique.
export function syncChildren(parent, items, { key, create, update }) {
  const before = new Map(Array.from(parent.children, child => [child.syncKey, child]));
  let next = parent.firstElementChild;
  for (const item of items) {
    const itemKey = key(item);
    let child = before.get(itemKey);
    before.delete(itemKey);
    if (child === undefined) {
      child = create(item);
      child.syncKey = itemKey;
    }
    update?.(child, item);
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
  while (next !== null) {
    const rest = next;
    next = next.nextElementSibling;
    rest.remove();
  }
}

// A group of exclusive choices, as radio buttons that look like one control.
export function choice({ legend, name, options, value, onchange }) {
  return h(
    'fieldset',
    { class: 'choice' },
    h('legend', { class: 'visually-hidden' }, legend),
    options.map(([id, label]) =>
      h(
        'label',
        {},
        h('input', { type: 'radio', name, value: id, checked: id === value, onchange: () => onchange(id) }),
        h('span', {}, label),
      ),
    ),
  );
}

// A labelled field. `note` explains it; an error is shown below it by setError().
export function field(label, input, note) {
  const hint = h('span', { class: 'hint', id: `${input.id}-hint` }, note ?? '');
  input.setAttribute('aria-describedby', hint.id);
  input.note = note ?? '';
  input.hint = hint;
  return h('div', { class: 'field' }, h('label', { for: input.id }, label), input, hint);
}

export function setError(input, message) {
  input.toggleAttribute('aria-invalid', Boolean(message));
  if (message) input.setAttribute('aria-invalid', 'true');
  input.hint.classList.toggle('error', Boolean(message));
  setText(input.hint, message || input.note);
}

export const card = (title, ...children) => h('section', { class: 'card' }, title && h('h2', {}, title), ...children);

// A table with a caption for screen readers. Columns are [label, class].
export function table(caption, columns) {
  const body = h('tbody');
  const element = h(
    'div',
    { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h('caption', { class: 'visually-hidden' }, caption),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map(([label, kind]) => h('th', { scope: 'col', class: kind }, label)),
        ),
      ),
      body,
    ),
  );
  return { element, body };
}

// A bar whose length is a part of the longest one. The number stands beside it.
export function bar() {
  const fill = svg('rect', { class: 'bar-fill', width: 0, height: 6, rx: 3 });
  const element = svg(
    'svg',
    { class: 'bar', width: 72, height: 6, 'aria-hidden': 'true' },
    svg('rect', { class: 'bar-track', width: 72, height: 6, rx: 3 }),
    fill,
  );
  return {
    element,
    set: (part, longest) => fill.setAttribute('width', part > 0 ? Math.max(2, (72 * part) / longest) : 0),
  };
}

export const chip = (kind, text) => h('span', { class: `chip ${kind}` }, text);
