// The report of `sluice simulate --html`, drawn from the JSON that `--json` prints.
import { TimeChart } from '../charts.js';
import { card, chip, h, table } from '../dom.js';
import { compact, count, durationText, rate, span } from '../format.js';

const kKinds = ['passed', 'fourth', 'third', 'denied'];

const times = permille => (permille / 1000).toFixed(2);

function tile(name, value, note = '') {
  return h('div', { class: 'tile' }, h('dt', {}, name), h('dd', {}, value), h('dd', { class: 'tile-note' }, note));
}

// Virtual time, from the start of the run.
const timeFormat = ms => ms === 0 ? '0' : span(ms);

function rows(caption, columns, lines) {
  const { element, body } = table(caption, columns);
  body.append(...lines.map(([first, ...rest]) => h('tr', {}, h('th', { scope: 'row', class: 'identifier' }, first),
    rest.map((value, at) => h('td', { class: columns[at + 1][1] }, value)))));
  return element;
}

const kNumber = 'number';

function draw(result) {
  const { regions, faults, scheduled } = result;
  const step = result.column_ms;
  const chartOf = (label, series, format, height) => new TimeChart({ label, series, format, height, timeFormat, axisFormat: format });
  const bands = scheduled.map(({ at_ms: from, lasts_ms: lasts }) => ({ from, to: from + lasts, kind: 'fault' }));
  const perSecond = value => `${value < 10 ? rate(value) : compact(value)}/s`;
  const summed = name => regions[0][name].map((_, at) => regions.reduce((sum, region) => sum + region[name][at], 0) * 1000 / step);

  const fullest = chartOf('Admitted within the last window, of the fullest key, as a multiple of the limit',
    [{ name: 'admitted', kind: 'passed' }], value => value.toFixed(2), 220);
  fullest.draw({ from: step, step, values: [result.over_time_permille.map(each => each / 1000)], bands,
    marks: [{ value: 1, label: 'limit' }, ...(result.bound_permille ? [{ value: result.bound_permille / 1000, label: 'bound' }] : [])] });
  const decisions = new TimeChart({ label: 'Decisions per second', stacked: true, height: 190, timeFormat, format: perSecond, axisFormat: compact,
    series: [{ name: 'passed', kind: 'passed' }, { name: 'denied', kind: 'denied' }] });
  decisions.draw({ from: step, step, values: [summed('admitted_over_time'), summed('denied_over_time')], bands });
  const cards = [card(`Admitted within the last ${durationText(result.duration_ms)}, of the fullest key, as a multiple of the limit`, fullest.element),
    card('Decisions per second', decisions.element)];
  if (regions.length > 1 && regions.length <= kKinds.length) {
    const byRegion = new TimeChart({ label: 'Passed per second, by region', height: 160, timeFormat, format: perSecond, axisFormat: compact,
      series: regions.map((_, at) => ({ name: `region-${at + 1}`, kind: kKinds[at] })) });
    byRegion.draw({ from: step, step, values: regions.map(each => each.admitted_over_time.map(value => value * 1000 / step)), bands });
    cards.push(card('Passed per second, by region', byRegion.element));
  }

  const after = ms => ms === null ? '–' : `after ${span(ms)}`;
  const recovery = each => faults.find(({ fault, at_ms: at }) => fault === each.fault && at === each.at_ms);
  if (scheduled.length > 0) {
    cards.push(card('Faults', rows('Faults', [['Fault', ''], ['From', kNumber], ['To', kNumber], ['All of the region knew', kNumber], ['All regions knew', kNumber]],
      scheduled.map(each => {
        const found = recovery(each);
        return [each.fault, timeFormat(each.at_ms), timeFormat(each.at_ms + each.lasts_ms), found ? after(found.region_converged_ms) : 'it did not end',
          found ? after(found.world_converged_ms) : '–'];
      }))));
  }
  const per = (part, whole) => whole === 0 ? '–' : (part / whole).toFixed(3);
  cards.push(card('By region', rows('By region', [['Region', ''], ['Decisions', kNumber], ['Admitted', kNumber], ['Denied', kNumber], ['Waits per decision', kNumber],
    ['Calls per decision', kNumber], ['Decided alone', kNumber]],
  regions.map((each, at) => [`region-${at + 1}`, count(each.decisions), count(each.admitted), count(each.decisions - each.admitted), per(each.waits, each.decisions),
    per(each.calls, each.decisions), count(each.fallbacks)]))));

  document.title = `${result.name} · Sluice simulation`;
  document.getElementById('main').append(h('div', { class: 'view' },
    h('div', { class: 'view-head' }, h('h1', {}, result.name), result.failure === null ? chip('good', 'all checks passed') : chip('bad', 'a check failed')),
    h('p', { class: 'muted' }, `${count(result.nodes)} nodes in ${count(regions.length)} ${regions.length === 1 ? 'region' : 'regions'}, ${count(result.keys)} keys with a limit of `,
      `${count(result.limit)} per ${durationText(result.duration_ms)}, load ${times(result.load_permille)} times that, for ${durationText(result.lasts_ms)} of virtual time; seed ${result.seed}.`),
    result.failure !== null && h('p', { class: 'problem' }, `Failed at ${span(result.failed_at_ms)}: ${result.failure}`),
    h('dl', { class: 'tiles' }, tile('Decisions', count(result.decisions)), tile('Admitted', count(result.admitted)),
      tile('Average window', times(result.steady_permille), 'of the limit'), tile('Worst window', times(result.worst_window_permille), 'of the limit'),
      tile('Bound', result.bound_permille === null ? '–' : times(result.bound_permille), 'of the limit, without a fault'),
      tile('False denials', count(result.false_denials))),
    cards,
    h('p', { class: 'muted' }, 'See it again: ', h('code', {}, result.command))));
}

draw(JSON.parse(document.getElementById('result').textContent));
