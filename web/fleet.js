// The view of the nodes of the region and the regions known.
import { explain } from './api.js';
import { card, chip, h, setText, table } from './dom.js';
import { count, span } from './format.js';

function health({ state, degraded }) {
  if (state !== 'ready') return chip('warn', state);
  if (degraded.length > 0) return chip('bad', `${degraded.join(', ')} unavailable`);
  return chip('good', 'ready');
}

export function fleetView({ api }) {
  let isAsking = false;
  const nodes = table('Nodes of the region', [
    ['Node', ''],
    ['Health', ''],
    ['Address', ''],
    ['Version', ''],
    ['Uptime', 'number'],
    ['Report', 'number'],
    ['Keys held', 'number'],
    ['Overrides', 'number'],
  ]);
  const regions = table('Regions', [
    ['Region', ''],
    ['Newest count', 'number'],
  ]);
  const noRegions = h('p', { class: 'empty', hidden: true }, 'There is no global store: this region counts alone.');
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const summary = h('p', { class: 'summary' }, ' ');
  const element = h(
    'div',
    { class: 'view' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Fleet')),
    problem,
    h('section', { class: 'card' }, h('h2', {}, 'Nodes of the region'), summary, nodes.element),
    card('Regions', regions.element, noRegions),
  );

  function draw(fleet) {
    const versions = new Set(fleet.nodes.map(each => each.version));
    setText(
      summary,
      `Region ${fleet.region}, ${count(fleet.nodes.length)} ${fleet.nodes.length === 1 ? 'node' : 'nodes'}.` +
        (fleet.partial ? ' Other nodes may be missing: the origin is unavailable, or they run another version.' : '') +
        (versions.size > 1 ? ' The nodes have different versions.' : ''),
    );
    summary.classList.toggle('warning', fleet.partial || versions.size > 1);
    nodes.body.replaceChildren(
      ...fleet.nodes.map(each =>
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row', class: 'identifier' },
            each.node || 'this node',
            each.self && each.node && h('span', { class: 'muted' }, ' (this node)'),
          ),
          h('td', {}, health(each)),
          h('td', { class: 'mono' }, each.listen),
          h('td', {}, each.version),
          h('td', { class: 'number nowrap' }, span(Math.max(0, fleet.now - each.startedAt))),
          h('td', { class: 'number nowrap' }, each.self ? 'now' : `${span(each.age)} ago`),
          h('td', { class: 'number' }, count(each.keysHeld)),
          h(
            'td',
            { class: 'number nowrap' },
            each.overridesLagging
              ? chip('warn', `version ${each.overridesVersion} of ${fleet.overridesVersion}`)
              : 'newest',
          ),
        ),
      ),
    );
    regions.element.hidden = fleet.regions.length === 0;
    noRegions.hidden = fleet.regions.length > 0;
    regions.body.replaceChildren(
      ...fleet.regions.map(each =>
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row', class: 'identifier' },
            each.region,
            each.self && h('span', { class: 'muted' }, ' (this region)'),
          ),
          h('td', { class: 'number' }, each.age === undefined ? 'not yet' : `${span(each.age)} ago`),
        ),
      ),
    );
  }

  async function load() {
    if (isAsking) return;
    isAsking = true;
    try {
      draw(await api.get('/v2/node.fleet'));
      problem.hidden = true;
    } catch (error) {
      problem.hidden = false;
      setText(problem, explain(error));
    }
    isAsking = false;
  }

  load();
  return { element, title: 'Fleet', onSecond: load };
}
