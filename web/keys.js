// The view of the keys with most denials or most spend.
import { explain } from './api.js';
import { bar, choice, h, setText, syncChildren, table } from './dom.js';
import { compact, count, durationText, percent, span } from './format.js';
import { inspectLink, linkTo } from './links.js';

const kWindows = { 60000: ['1 min', 'minute'], 600000: ['10 min', '10 minutes'], 3600000: ['1 h', 'hour'] };
const kRows = 100;
const kMostNames = 500;

// The names that were added last.
export class RecentNames extends Set {
  add(name) {
    this.delete(name);
    super.add(name);
    if (this.size > kMostNames) this.delete(this.values().next().value);
    return this;
  }
}

// A field that proposes the namespaces that were seen.
export function namespaceInput(context, attributes) {
  const list = h('datalist', { id: `${attributes.id}-list` });
  const input = h('input', {
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 512,
    list: list.id,
    ...attributes,
  });
  const fill = () =>
    syncChildren(list, [...context.namespaces].sort(), {
      key: name => name,
      create: name => h('option', { value: name }),
    });
  input.addEventListener('focus', fill);
  fill();
  return { input, list };
}

export function keysView(context, values) {
  const { api } = context;
  const asked = {
    by: values.by === 'spend' ? 'spend' : 'denials',
    window: Object.hasOwn(kWindows, values.window ?? '') ? values.window : '60000',
    namespace: values.namespace ?? '',
  };
  let isAsking = false;

  const { input, list } = namespaceInput(context, {
    id: 'keys-namespace',
    value: asked.namespace,
    placeholder: 'all namespaces',
    'aria-label': 'Namespace',
  });
  input.addEventListener('change', () => change({ namespace: input.value }));
  const summary = h('p', { class: 'summary' }, ' ');
  const empty = h('p', { class: 'empty', hidden: true });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const rows = table('Top keys', [
    ['#', 'number narrow'],
    ['Identifier', ''],
    ['Namespace', 'off-phone'],
    ['Denials', 'number'],
    ['Share', 'number'],
    ['Spend', 'number'],
    ['Limit', 'number'],
    ['Last denied', 'number'],
  ]);

  const element = h(
    'div',
    { class: 'view' },
    h(
      'div',
      { class: 'view-head' },
      h('h1', {}, 'Top keys'),
      h(
        'div',
        { class: 'controls' },
        choice({
          legend: 'Rank by',
          name: 'by',
          value: asked.by,
          options: [
            ['denials', 'Denials'],
            ['spend', 'Spend'],
          ],
          onchange: by => change({ by }),
        }),
        choice({
          legend: 'Window',
          name: 'window',
          value: asked.window,
          options: Object.entries(kWindows).map(([id, [label]]) => [id, label]),
          onchange: window => change({ window }),
        }),
        input,
        list,
      ),
    ),
    problem,
    h('section', { class: 'card' }, summary, rows.element, empty),
  );

  function change(to) {
    Object.assign(asked, to);
    history.replaceState(null, '', linkTo('keys', asked));
    load();
  }

  const number = (value, error) => `${count(value)}${error > 0 ? ` ± ${compact(error)}` : ''}`;

  function draw(answer) {
    const { keys, total, by, now } = answer;
    const most = Math.max(1, ...keys.map(each => each[by]));
    syncChildren(
      rows.body,
      keys.map((each, at) => ({ ...each, rank: at + 1 })),
      {
        key: each => JSON.stringify([each.namespace, each.identifier, each.duration, each.id]),
        create: each => {
          const name = h(
            'span',
            { class: 'identifier' },
            each.identifier,
            each.cut && h('span', { class: 'muted' }, '… (cut)'),
          );
          const cell = kind => h('td', { class: kind });
          const length = bar();
          const cells = {
            rank: cell('number narrow muted'),
            denials: cell('number'),
            share: cell('number share'),
            spend: cell('number'),
            limit: cell('number'),
            last: cell('number muted'),
          };
          const text = h('span');
          cells.share.append(length.element, text);
          return Object.assign(
            h(
              'tr',
              {},
              cells.rank,
              h(
                'th',
                { scope: 'row' },
                each.cut ? name : h('a', { href: inspectLink(each) }, name),
                h('span', { class: 'muted identifier on-phone' }, each.namespace),
              ),
              h('td', { class: 'muted identifier off-phone' }, each.namespace),
              cells.denials,
              cells.share,
              cells.spend,
              cells.limit,
              cells.last,
            ),
            { parts: { ...cells, length, text } },
          );
        },
        update: (row, each) => {
          const { parts } = row;
          setText(parts.rank, String(each.rank));
          setText(parts.denials, number(each.denials, each.denialsError));
          parts.denials.classList.toggle('is-denied', each.denials > 0);
          setText(parts.spend, number(each.spend, each.spendError));
          setText(parts.text, percent(each[by], total));
          parts.length.set(each[by], most);
          setText(parts.limit, `${count(each.limit)} / ${durationText(each.duration)}`);
          setText(parts.last, each.lastDenied ? `${span(Math.max(0, now - each.lastDenied))} ago` : '–');
        },
      },
    );
    const time = kWindows[asked.window][1];
    rows.element.hidden = keys.length === 0;
    empty.hidden = keys.length > 0;
    setText(
      empty,
      `No ${asked.by === 'denials' ? 'denials' : 'spend'} in the last ${time}${asked.namespace ? ' in this namespace' : ''}.`,
    );
    const nodes = answer.nodes === 1 ? '1 node' : `${count(answer.nodes)} nodes`;
    setText(
      summary,
      `${answer.totalIsMinimum ? 'At least ' : ''}${count(total)} ${asked.by === 'denials' ? (total === 1 ? 'denial' : 'denials') : 'spent'} in the last ${time}, ${nodes}.` +
        (answer.partial ? ' Other nodes may be missing: the origin is unavailable, or they run another version.' : ''),
    );
  }

  async function load() {
    if (isAsking) return;
    isAsking = true;
    const { by, window, namespace } = asked;
    try {
      const answer = await api.post('topKeys', {
        by,
        window: Number(window),
        limit: kRows,
        ...(namespace && { namespace }),
      });
      if (by === asked.by && window === asked.window && namespace === asked.namespace) draw(answer);
      problem.hidden = true;
    } catch (error) {
      problem.hidden = false;
      setText(problem, explain(error));
    }
    isAsking = false;
    if (by !== asked.by || window !== asked.window || namespace !== asked.namespace) load();
  }

  load();
  return { element, title: 'Top keys', onSecond: load };
}
