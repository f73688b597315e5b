// The view of the overrides: list, search and changes, and the log of changes.
import { explain } from './api.js';
import { card, h, setText, syncChildren, table } from './dom.js';
import { count, durationText, when } from './format.js';
import { namespaceInput, RecentNames } from './keys.js';
import { linkTo } from './links.js';
import { deleteOverride, editOverride } from './override_editor.js';

const kPage = 100;
const kMostRows = 500; // of overrides that are loaded; a narrower search finds the others
const kMostNamespaces = 50; // that are searched together
const kLogPage = 20;

const grantText = grant => (grant === undefined ? '–' : `${count(grant.limit)} / ${durationText(grant.duration)}`);

// All overrides of a namespace, up to `most`. None for a namespace that does not exist.
export async function listOverrides(api, namespace, most = kMostRows) {
  const all = [];
  let cursor;
  try {
    do {
      const { list, pagination } = await api.post('listOverrides', {
        namespace,
        limit: kPage,
        ...(cursor && { cursor }),
      });
      all.push(...list.map(each => ({ ...each, namespace })));
      cursor = pagination.cursor;
    } while (cursor && all.length < most);
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  return { all, hasMore: Boolean(cursor) };
}

// One sentence about the nodes that have not loaded the newest overrides.
export function lagText({ nodes, partial }) {
  const lagging = nodes.filter(each => each.overridesLagging).map(each => each.node || 'this node');
  if (lagging.length > 0)
    return {
      isLate: true,
      text: `Not yet on ${lagging.join(', ')}: ${lagging.length === 1 ? 'that node has' : 'those nodes have'} older overrides.`,
    };
  if (partial)
    return {
      isLate: true,
      text: 'The origin is unavailable, or other nodes run another version, so it is not known what they have.',
    };
  return {
    isLate: false,
    text:
      nodes.length <= 1
        ? 'This node has the newest overrides.'
        : `All ${count(nodes.length)} nodes have the newest overrides.`,
  };
}

export function overridesView(context, values) {
  const { api, may, announce } = context;
  let overrides = [];
  let hasMore = false;
  let request = 0;
  let log = [];
  let logCursor;
  const listed = new RecentNames(context.localNamespaces); // without a choice: namespaces that can have overrides

  const { input, list } = namespaceInput(context, {
    id: 'overrides-namespace',
    value: values.namespace ?? '',
    placeholder: 'all with recent traffic',
    'aria-label': 'Namespace',
  });
  input.addEventListener('change', () => {
    history.replaceState(null, '', linkTo('overrides', { namespace: input.value }));
    load();
    loadLog();
  });
  const search = h('input', {
    type: 'search',
    id: 'overrides-search',
    placeholder: 'Search identifiers',
    'aria-label': 'Search identifiers',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  search.addEventListener('input', () => draw());
  const lag = h('p', { class: 'summary', role: 'status' }, ' ');
  const empty = h('p', { class: 'empty', hidden: true });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const more = h('p', { class: 'hint', hidden: true });
  const rows = table('Overrides', [
    ['Identifier', ''],
    ['Namespace', 'off-phone'],
    ['Limit', 'number'],
    ['Duration', 'number'],
    ['', 'actions'],
  ]);
  const changes = table('Changes of overrides', [
    ['When', ''],
    ['By', ''],
    ['Change', ''],
    ['Identifier', ''],
    ['Namespace', ''],
    ['Before', 'number'],
    ['After', 'number'],
  ]);
  const noChanges = h('p', { class: 'empty', hidden: true }, 'No changes yet.');
  const older = h(
    'button',
    { type: 'button', class: 'quiet', hidden: true, onclick: () => loadLog(true) },
    'Older changes',
  );

  const create =
    may('set_override') &&
    h(
      'button',
      {
        type: 'button',
        class: 'primary',
        id: 'new-override',
        onclick: () =>
          editOverride(context, {
            override: { namespace: input.value || undefined, duration: 60_000 },
            isNew: true,
            onSaved: saved,
          }),
      },
      'New override',
    );
  const element = h(
    'div',
    { class: 'view' },
    h(
      'div',
      { class: 'view-head' },
      h('h1', {}, 'Overrides'),
      h('div', { class: 'controls' }, input, list, search, create),
    ),
    problem,
    h('section', { class: 'card' }, lag, rows.element, empty, more),
    card('Log of changes', changes.element, noChanges, older),
  );

  // Namespaces with traffic in the last hour, some of which may have been quiet since the page was opened.
  async function findNamespaces() {
    if (!may('read_metrics')) return;
    try {
      for (const { namespace } of (await api.get('/v2/node.traffic?seconds=3600&step=60')).namespaces) {
        context.namespaces.add(namespace);
        listed.add(namespace);
      }
    } catch {
      // The list begins with fewer namespaces.
    }
  }

  const reload = () => {
    load();
    loadLog();
    loadLag();
  };
  function saved({ namespace, identifier }) {
    context.namespaces.add(namespace);
    listed.add(namespace);
    announce(`Saved the override of ${identifier}.`);
    reload();
  }

  function actions(override) {
    return h(
      'td',
      { class: 'actions' },
      may('set_override') &&
        h(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-label': `Change the override of ${override.identifier}`,
            onclick: () => editOverride(context, { override, onSaved: saved }),
          },
          'Change',
        ),
      may('delete_override') &&
        h(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-label': `Delete the override of ${override.identifier}`,
            onclick: () =>
              deleteOverride(context, {
                override,
                onDeleted: () => {
                  announce('Deleted the override.');
                  reload();
                },
              }),
          },
          'Delete',
        ),
    );
  }

  function draw() {
    const wanted = search.value.toLowerCase();
    const shown = overrides.filter(each => each.identifier.toLowerCase().includes(wanted));
    syncChildren(rows.body, shown, {
      key: each => `${each.overrideId} ${each.limit} ${each.duration}`,
      create: each =>
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row' },
            h('span', { class: 'identifier' }, each.identifier),
            h('span', { class: 'muted identifier on-phone' }, each.namespace),
          ),
          h('td', { class: 'muted identifier off-phone' }, each.namespace),
          h('td', { class: 'number' }, each.limit === 0 ? '0 (denied)' : count(each.limit)),
          h('td', { class: 'number' }, durationText(each.duration)),
          actions(each),
        ),
    });
    rows.element.hidden = shown.length === 0;
    empty.hidden = shown.length > 0;
    setText(
      empty,
      overrides.length > 0
        ? 'No override matches this search.'
        : input.value
          ? 'No overrides in this namespace.'
          : 'No overrides in the namespaces with recent traffic or changes. Name another namespace above.',
    );
    more.hidden = !hasMore;
    setText(more, `Only ${count(overrides.length)} were loaded. Name a namespace above to see all of its overrides.`);
  }

  async function load() {
    const mine = ++request;
    try {
      const names = input.value ? [input.value] : [...listed].slice(-kMostNamespaces).sort();
      const loaded = { all: [], hasMore: !input.value && listed.size > kMostNamespaces };
      for (const name of names) {
        const { all, hasMore: isCut } = await listOverrides(api, name);
        loaded.all.push(...all);
        loaded.hasMore ||= isCut;
      }
      if (mine !== request) return;
      overrides = loaded.all;
      hasMore = loaded.hasMore;
      problem.hidden = true;
      draw();
    } catch (error) {
      if (mine !== request) return;
      problem.hidden = false;
      setText(problem, explain(error));
    }
  }

  async function loadLog(isOlder = false) {
    const namespace = input.value;
    if (namespace === '' && !context.coversAll()) {
      noChanges.hidden = false;
      changes.element.hidden = older.hidden = true;
      setText(noChanges, 'Your token covers some namespaces: name one above to see its changes.');
      return;
    }
    try {
      const answer = await api.post('overrideLog', {
        limit: kLogPage,
        ...(namespace && { namespace }),
        ...(isOlder && { cursor: logCursor }),
      });
      if (namespace !== input.value) return;
      log = isOlder ? [...log, ...answer.changes] : answer.changes;
      logCursor = answer.pagination.cursor;
    } catch (error) {
      noChanges.hidden = false;
      changes.element.hidden = true;
      setText(noChanges, explain(error));
      return;
    }
    const before = listed.size;
    for (const { namespace, action } of log) {
      context.namespaces.add(namespace);
      if (action === 'set') listed.add(namespace);
    }
    if (listed.size > before && !input.value) load();
    changes.body.replaceChildren(
      ...log.map(each =>
        h(
          'tr',
          {},
          h('td', { class: 'nowrap' }, when(each.at)),
          h('td', {}, each.token || '–'),
          h('td', {}, each.action === 'delete' ? 'deleted' : each.before ? 'changed' : 'created'),
          h('th', { scope: 'row', class: 'identifier' }, each.identifier),
          h('td', { class: 'muted identifier' }, each.namespace),
          h('td', { class: 'number' }, grantText(each.before)),
          h('td', { class: 'number' }, grantText(each.after)),
        ),
      ),
    );
    changes.element.hidden = log.length === 0;
    noChanges.hidden = log.length > 0;
    setText(noChanges, 'No changes yet.');
    older.hidden = logCursor === undefined;
  }

  async function loadLag() {
    if (!may('read_metrics')) return;
    try {
      const { isLate, text } = lagText(await api.get('/v2/node.fleet'));
      lag.classList.toggle('warning', isLate);
      setText(lag, text);
    } catch (error) {
      setText(lag, explain(error));
    }
  }

  findNamespaces().then(reload);
  let seconds = 0;
  return {
    element,
    title: 'Overrides',
    onSecond: () => {
      if (++seconds % 2 === 0) loadLag();
    },
  };
}
