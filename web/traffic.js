// The view of the traffic: decisions per second, latency, and the state of what the node depends on.
import { explain } from './api.js';
import { TimeChart, sparkline } from './charts.js';
import { bar, card, chip, choice, h, setText, syncChildren, table } from './dom.js';
import { compact, count, latency, latencyTick, percent, rate, span, time, timeOfMinute } from './format.js';
import { inspectLink } from './links.js';

const kRanges = {
  60: { seconds: 60, step: 1, label: '1 min' },
  600: { seconds: 600, step: 5, label: '10 min' },
  3600: { seconds: 3600, step: 30, label: '1 h' },
};
const kTopRows = 5;

const sum = list => list.reduce((all, each) => all + each, 0);

function tile(name) {
  const value = h('dd');
  const note = h('dd', { class: 'tile-note' });
  return {
    element: h('div', { class: 'tile' }, h('dt', {}, name), value, note),
    set: (text, detail = '') => {
      setText(value, text);
      setText(note, detail);
    },
  };
}

// Appends the second of an event to traffic of one-second steps.
function append(traffic, event) {
  const { traffic: second, status } = event;
  const size = traffic.passed.length;
  const push = (list, value) => {
    list.push(value);
    if (list.length > size) list.shift();
  };
  traffic.from = second.at + 1000 - size * 1000;
  push(traffic.passed, second.passed);
  push(traffic.denied, second.denied);
  for (const name of ['p50', 'p99', 'p999']) push(traffic.latency[name], second.latency[name]);
  const now = new Map(second.namespaces.map(each => [each.namespace, each]));
  for (const { namespace } of second.namespaces) {
    if (!traffic.namespaces.some(each => each.namespace === namespace))
      traffic.namespaces.push({ namespace, passed: Array(size).fill(0), denied: Array(size).fill(0) });
  }
  for (const each of traffic.namespaces) {
    push(each.passed, now.get(each.namespace)?.passed ?? 0);
    push(each.denied, now.get(each.namespace)?.denied ?? 0);
  }
  traffic.namespaces = traffic.namespaces.filter(each => sum(each.passed) + sum(each.denied) > 0);
  push(traffic.keysHeld, status.keysHeld);
  push(traffic.oldestUnsynced, status.origin.oldestUnsynced ?? 0);
  push(traffic.importAge, status.global.importAge ?? -1);
  push(traffic.originUnavailable, status.origin.unavailable ? 1 : 0);
  push(traffic.globalUnavailable, status.global.unavailable ? 1 : 0);
}

// The spans of time in which `list` is above 0.
function bandsOf(traffic, list, kind) {
  const step = traffic.step * 1000;
  const bands = [];
  list.forEach((value, at) => {
    if (!(value > 0)) return;
    const from = traffic.from + at * step;
    if (bands.at(-1)?.to === from) bands.at(-1).to += step;
    else bands.push({ from, to: from + step, kind });
  });
  return bands;
}

function storeState(name, store, facts) {
  const state = !store.attached
    ? chip('off', 'not used')
    : store.unavailable
      ? chip('bad', 'unavailable')
      : chip('good', 'available');
  return h(
    'div',
    { class: 'state-row' },
    h('span', { class: 'state-name' }, name),
    state,
    h('span', { class: 'state-facts' }, store.attached ? facts.filter(Boolean).join(' · ') : ''),
  );
}

function stateRows({ origin, global, bus }) {
  return [
    storeState('Origin', origin, [
      `${count(origin.nodes ?? 0)} ${origin.nodes === 1 ? 'node' : 'nodes'}`,
      `flush lag ${span(origin.oldestUnsynced ?? 0)}`,
      Math.abs(origin.clockOffset ?? 0) >= 100 && `clock differs by ${span(Math.abs(origin.clockOffset))}`,
    ]),
    storeState('Global store', global, [
      `${count(global.regions ?? 0)} ${global.regions === 1 ? 'region' : 'regions'}`,
      global.importAge === undefined ? 'nothing imported yet' : `imported ${span(global.importAge)} ago`,
      global.publishAge !== undefined && `published ${span(global.publishAge)} ago`,
      `breakers ${[global.publishBreakerOpen && 'publish open', global.importBreakerOpen && 'import open'].filter(Boolean).join(', ') || 'closed'}`,
    ]),
    storeState('Bus', bus, []),
  ];
}

export function trafficView({ api }) {
  let range = kRanges['60'];
  let traffic = null;
  let request = 0; // the number of the last one; answers to earlier ones are dropped

  const tiles = {
    passed: tile('Passed'),
    denied: tile('Denied'),
    share: tile('Denied share'),
    p99: tile('Latency p99'),
    keys: tile('Keys held'),
    lag: tile('Flush lag'),
  };
  const timeFormat = ms => (range.seconds === 60 ? time(ms) : timeOfMinute(ms));
  const perSecond = value => `${value < 10 ? rate(value) : count(value)}/s`;
  const decisions = new TimeChart({
    label: 'Decisions per second',
    stacked: true,
    height: 210,
    series: [
      { name: 'passed', kind: 'passed' },
      { name: 'denied', kind: 'denied' },
    ],
    format: perSecond,
    axisFormat: compact,
    timeFormat,
  });
  const latencies = new TimeChart({
    label: 'Latency of decisions',
    height: 150,
    series: [
      { name: 'p50', kind: 'third' },
      { name: 'p99', kind: 'second' },
      { name: 'p99.9', kind: 'fourth' },
    ],
    format: latency,
    axisFormat: latencyTick,
    timeFormat,
  });
  const keysHeld = new TimeChart({
    label: 'Keys held',
    height: 150,
    series: [{ name: 'keys', kind: 'second' }],
    format: count,
    axisFormat: compact,
    timeFormat,
  });
  const lags = new TimeChart({
    label: 'Lag of shared counts',
    height: 150,
    series: [
      { name: 'flush lag', kind: 'second' },
      { name: 'import age', kind: 'fourth' },
    ],
    format: span,
    axisFormat: span,
    timeFormat,
  });
  const lagCard = card('Lag of shared counts', lags.element);
  const bandNote = h('p', { class: 'hint band-note' }, ' ');
  const namespaces = table('Traffic by namespace', [
    ['Namespace', ''],
    ['Passed/s', 'number'],
    ['Denied/s', 'number'],
    ['Denied', 'number'],
    ['', 'spark-cell'],
  ]);
  const noNamespaces = h('p', { class: 'empty', hidden: true }, 'No traffic in this time.');
  const states = h('div', { class: 'states' });
  const top = h('ol', { class: 'top-list' });
  const noTop = h('p', { class: 'empty' }, 'No denials in the last minute.');
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });

  const element = h(
    'div',
    { class: 'view' },
    h(
      'div',
      { class: 'view-head' },
      h('h1', {}, 'Traffic'),
      choice({
        legend: 'Range',
        name: 'range',
        value: '60',
        options: Object.entries(kRanges).map(([id, { label }]) => [id, label]),
        onchange: id => {
          range = kRanges[id];
          load();
        },
      }),
    ),
    problem,
    h(
      'dl',
      { class: 'tiles' },
      Object.values(tiles).map(each => each.element),
    ),
    card('Decisions per second', decisions.element, bandNote),
    h(
      'div',
      { class: 'columns' },
      card('By namespace', namespaces.element, noNamespaces),
      h(
        'div',
        { class: 'stack' },
        h(
          'section',
          { class: 'card' },
          h(
            'div',
            { class: 'card-head' },
            h('h2', {}, 'Most denied, last minute'),
            h('a', { href: '#keys' }, 'All keys'),
          ),
          top,
          noTop,
        ),
        card('Shared stores', states),
      ),
    ),
    h('div', { class: 'columns' }, card('Latency', latencies.element), card('Keys held', keysHeld.element)),
    lagCard,
  );
  lagCard.hidden = true;

  function drawNamespaces() {
    const seconds = traffic.passed.length * traffic.step;
    const rows = traffic.namespaces
      .map(each => ({ ...each, passedSum: sum(each.passed), deniedSum: sum(each.denied) }))
      .filter(each => each.passedSum + each.deniedSum > 0)
      .sort((a, b) => b.passedSum + b.deniedSum - a.passedSum - a.deniedSum || (a.namespace < b.namespace ? -1 : 1));
    syncChildren(namespaces.body, rows, {
      key: row => row.namespace,
      create: row => {
        const spark = sparkline();
        const cells = [0, 1, 2].map(() => h('td', { class: 'number' }));
        const line = h(
          'tr',
          {},
          h('th', { scope: 'row', class: 'identifier' }, row.namespace),
          cells,
          h('td', { class: 'spark-cell' }, spark.element),
        );
        return Object.assign(line, { parts: cells, spark });
      },
      update: (line, row) => {
        setText(line.parts[0], rate(row.passedSum / seconds));
        setText(line.parts[1], rate(row.deniedSum / seconds));
        setText(line.parts[2], percent(row.deniedSum, row.passedSum + row.deniedSum));
        line.parts[1].classList.toggle('is-denied', row.deniedSum > 0);
        line.spark.draw(row.passed, row.denied);
      },
    });
    noNamespaces.hidden = rows.length > 0;
    namespaces.element.hidden = rows.length === 0;
  }

  function draw() {
    const { from, step } = traffic;
    const perStep = list => list.map(value => value / step);
    const bands = [
      ...bandsOf(traffic, traffic.originUnavailable, 'outage'),
      ...bandsOf(traffic, traffic.globalUnavailable, 'outage'),
    ];
    setText(bandNote, bands.length > 0 ? 'Shaded: the origin or the global store was unavailable.' : ' ');
    decisions.draw({ from, step: step * 1000, values: [perStep(traffic.passed), perStep(traffic.denied)], bands });
    keysHeld.draw({ from, step: step * 1000, values: [traffic.keysHeld] });
    lags.draw({
      from,
      step: step * 1000,
      values: [traffic.oldestUnsynced, traffic.importAge.map(age => (age < 0 ? null : age))],
      bands,
    });
    latencies.draw({
      from,
      step: step * 1000,
      values: [traffic.latency.p50, traffic.latency.p99, traffic.latency.p999],
    });
    drawNamespaces();
  }

  async function load() {
    const mine = ++request;
    try {
      const loaded = await api.get(`/v2/node.traffic?seconds=${range.seconds}&step=${range.step}`);
      if (mine !== request) return;
      traffic = loaded;
      problem.hidden = true;
      draw();
    } catch (error) {
      if (mine !== request) return;
      problem.hidden = false;
      setText(problem, explain(error));
    }
  }

  function drawTop(topKeys) {
    const keys = topKeys?.keys.filter(each => each.denials > 0).slice(0, kTopRows) ?? [];
    const most = keys[0]?.denials ?? 1;
    syncChildren(top, keys, {
      key: each => JSON.stringify([each.namespace, each.identifier, each.duration, each.id]),
      create: each => {
        const number = h('span', { class: 'number' });
        const length = bar();
        const item = h(
          'li',
          {},
          h(
            each.cut ? 'span' : 'a',
            { class: 'top-key', href: each.cut ? undefined : inspectLink(each) },
            h('span', { class: 'identifier' }, each.identifier),
            h('span', { class: 'muted' }, each.namespace),
          ),
          length.element,
          number,
        );
        return Object.assign(item, { number, length });
      },
      update: (item, each) => {
        setText(item.number, count(each.denials));
        item.length.set(each.denials, most);
      },
    });
    noTop.hidden = keys.length > 0;
    if (topKeys === undefined) setText(noTop, 'Your token lacks the permission read_keys.');
  }

  function onSecond(event) {
    const { traffic: second, status } = event;
    const all = second.passed + second.denied;
    tiles.passed.set(`${count(second.passed)}/s`);
    tiles.denied.set(`${count(second.denied)}/s`);
    tiles.denied.element.classList.toggle('is-denied', second.denied > 0);
    tiles.share.set(percent(second.denied, all));
    const { p50, p99 } = second.latency; // 0 without calls over HTTP
    tiles.p99.set(p99 > 0 ? latency(p99) : '–', p99 > 0 ? `p50 ${latency(p50)}` : '');
    tiles.keys.set(count(status.keysHeld));
    tiles.lag.set(
      status.origin.attached ? span(status.origin.oldestUnsynced) : '–',
      status.origin.attached ? '' : 'no origin',
    );
    states.replaceChildren(...stateRows(status));
    lagCard.hidden = !status.origin.attached && !status.global.attached;
    drawTop(event.topKeys);
    if (traffic === null) return void load();
    const last = traffic.from + traffic.passed.length * traffic.step * 1000;
    if (range.step === 1 && traffic.step === 1 && second.at === last) {
      append(traffic, event);
      draw();
    } else if (second.at + 1000 >= last + range.step * 1000) {
      load();
    }
  }

  load();
  return { element, title: 'Traffic', onSecond };
}
