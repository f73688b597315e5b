// The tables of the inspector: who counted what, and how old that knowledge is.
import { card, chip, h, setText, syncChildren, table } from './dom.js';
import { count, rate, span, time } from './format.js';
import { counted } from './window_picture.js';

// The counts of both windows by who made them.
export function countsTable() {
  const { element, body } = table('Counts of the key', [
    ['Counted by', ''],
    ['Previous', 'number'],
    ['Current', 'number'],
    ['Counted now', 'number'],
  ]);
  return {
    element,
    draw: ({ previous, current }, weight) => {
      const sources = [
        ['This node', 'admitted'],
        ['Other nodes of the region', 'peers'],
        ['Other regions', 'global'],
      ];
      const rows = [
        ...sources.map(([name, field]) => [name, previous[field], current[field]]),
        ['Sum', counted(previous), counted(current)],
      ];
      syncChildren(body, rows, {
        key: ([name]) => name,
        create: ([name]) => {
          const cells = [0, 1, 2].map(() => h('td', { class: 'number' }));
          return Object.assign(
            h('tr', { class: name === 'Sum' ? 'sum' : undefined }, h('th', { scope: 'row' }, name), cells),
            { parts: cells },
          );
        },
        update: (row, [, before, after]) =>
          [count(before), count(after), rate(after + before * weight)].forEach((value, at) =>
            setText(row.parts[at], value),
          ),
      });
    },
  };
}

// Joins the lists of both windows by name: [name, {previous, current}].
function joined(previous = [], current = [], name) {
  const all = new Map();
  for (const [side, list] of [
    ['previous', previous],
    ['current', current],
  ])
    for (const each of list) all.set(each[name], { ...all.get(each[name]), [side]: each });
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}

// The components of the nodes at the origin.
export function componentsCard() {
  const { element, body } = table('Components at the origin', [
    ['Node', ''],
    ['Previous', 'number'],
    ['Current', 'number'],
  ]);
  const empty = h('p', { class: 'empty' });
  return {
    element: card('By node, at the origin', element, empty),
    draw: inspection => {
      const { previous, current, node } = inspection;
      const rows = joined(previous.origin?.components, current.origin?.components, 'owner');
      element.hidden = rows.length === 0;
      empty.hidden = rows.length > 0;
      setText(
        empty,
        node === undefined
          ? 'There is no origin: this node counts alone.'
          : inspection.originUnavailable || !current.origin
            ? 'The origin did not answer.'
            : 'The origin holds nothing of this key.',
      );
      body.replaceChildren(
        ...rows.map(([owner, sides]) =>
          h(
            'tr',
            {},
            h(
              'th',
              { scope: 'row', class: 'identifier' },
              owner,
              (owner === node || owner.startsWith(`${node}.`)) && h('span', { class: 'muted' }, ' (this node)'),
            ),
            h('td', { class: 'number' }, count(sides.previous?.count ?? 0)),
            h('td', { class: 'number' }, count(sides.current?.count ?? 0)),
          ),
        ),
      );
    },
  };
}

// The components of the regions: as published, and as known here.
export function regionsCard() {
  const { element, body } = table('Counts of the regions', [
    ['Region', ''],
    ['Window', ''],
    ['Published', 'number'],
    ['Known here', 'number'],
    ['From', ''],
  ]);
  const empty = h('p', { class: 'empty' });
  const row = (region, window, each) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row', class: 'identifier' }, region),
      h('td', { class: 'muted' }, window),
      h('td', { class: 'number' }, each.count > 0 ? `${count(each.count)}, ${span(each.age)} ago` : '–'),
      h('td', { class: 'number' }, each.source ? `${count(each.known)}, ${span(each.knownAge)} ago` : '–'),
      h('td', { class: 'muted' }, each.source ?? ''),
    );
  return {
    element: card('By region', element, empty),
    draw: ({ previous, current, globalUnavailable }) => {
      const rows = joined(previous.regions, current.regions, 'region').flatMap(([region, sides]) =>
        ['previous', 'current'].filter(side => sides[side]).map(side => row(region, side, sides[side])),
      );
      element.hidden = rows.length === 0;
      empty.hidden = rows.length > 0;
      setText(
        empty,
        globalUnavailable === undefined
          ? 'There is no global store: this region counts alone.'
          : globalUnavailable || !current.regions
            ? 'The global store did not answer.'
            : 'No region has published counts of this key.',
      );
      body.replaceChildren(...rows);
    },
  };
}

const fact = (name, ...value) => h('div', { class: 'fact' }, h('dt', {}, name), h('dd', {}, ...value));

// The state of the key at this node, as the items of a list.
export function facts(inspection, now) {
  const {
    held,
    lastUsed,
    unsynced,
    strictUntil,
    refreshedAt,
    node,
    originUnavailable,
    globalUnavailable,
    importAge,
    current,
  } = inspection;
  const ago = at => `${span(Math.max(0, now - at))} ago`;
  return [
    fact('Held by this node', held ? `yes, last used ${ago(lastUsed)}` : 'no'),
    fact('Unsynced', unsynced ? chip('warn', 'the origin lacks counts of this node') : 'nothing'),
    fact(
      'Strict until',
      strictUntil > now
        ? `${time(strictUntil)}, for ${span(strictUntil - now)}: the origin decides each pass`
        : 'not strict',
    ),
    node !== undefined &&
      fact(
        'Origin',
        originUnavailable ? chip('bad', 'unavailable') : chip('good', 'available'),
        refreshedAt !== undefined && ` read ${ago(refreshedAt)}`,
      ),
    globalUnavailable !== undefined &&
      fact(
        'Global store',
        globalUnavailable ? chip('bad', 'unavailable') : chip('good', 'available'),
        importAge === undefined ? ' nothing imported yet' : ` imported ${span(importAge)} ago`,
      ),
    fact('Window', `${time(current.begins)} to ${time(current.begins + inspection.duration)}`),
  ];
}
