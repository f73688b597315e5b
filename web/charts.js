// Charts of values over time, as SVG. The page and the report of `sluice simulate --html` share them.
import { h, svg, setText } from './dom.js';

const kLeft = 48;    // room for the labels of the vertical axis, in pixels as the others
const kRight = 8;
const kTop = 8;
const kBottom = 20;

// Round steps of an axis from 0 to at least `top`, about `wanted` of them.
export function ticksUpTo(top, wanted = 4) {
  if (!(top > 0)) return [0, 1];
  const rough = top / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(each => each * power).find(each => each >= rough * 0.999);
  const ticks = [];
  for (let tick = 0; tick < top + step * 0.999; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

// Steps of a time axis, in milliseconds.
const kTimeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map(s => s * 1000);

export function timeTicks(from, to, wanted) {
  const step = kTimeSteps.find(each => (to - from) / each <= wanted) ?? kTimeSteps.at(-1);
  const ticks = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}

// The path through `points`, [x, y] or null for a gap.
export function linePath(points) {
  let path = '';
  let isOn = false;
  for (const point of points) {
    if (point !== null) path += `${isOn ? 'L' : 'M'}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    isOn = point !== null;
  }
  return path;
}

// A chart with a legend that shows the last values, or those under the pointer or the keyboard's cursor.
//
// series: [{name, kind}]; `kind` is a class of the style sheet. `stacked` fills areas on top of each other.
// format(value) and axisFormat(value) write values, timeFormat(ms) instants.
export class TimeChart {
  #options;
  #data = null;
  #cursor = null;
  #width = 0;
  #legend;
  #time;
  #svg;
  #grid = svg('g', { class: 'grid' });
  #areas;
  #lines;
  #marks = svg('g', { class: 'marks' });
  #pointer = svg('line', { class: 'pointer', visibility: 'hidden' });

  constructor(options) {
    this.#options = { height: 190, axisFormat: options.format, ...options };
    const { series, label, stacked, height } = this.#options;
    this.#areas = series.map(({ kind }) => svg('path', { class: `area ${kind}`, visibility: stacked ? undefined : 'hidden' }));
    this.#lines = series.map(({ kind }) => svg('path', { class: `line ${kind}` }));
    this.#time = h('span', { class: 'legend-time' });
    this.#legend = series.map(({ name, kind }) => {
      const value = h('span', { class: 'legend-value' });
      return { value, element: h('span', { class: 'legend-item' }, h('i', { class: `swatch ${kind}` }), name, value) };
    });
    this.#svg = svg('svg', { class: 'chart', height, role: 'img', 'aria-label': label },
      this.#grid, this.#areas, this.#lines, this.#marks, this.#pointer);
    this.element = h('div', { class: 'chart-box', tabindex: '0', role: 'group', 'aria-label': `${label}; arrow keys move the cursor` },
      h('div', { class: 'legend' }, this.#legend.map(each => each.element), this.#time), this.#svg);
    this.element.addEventListener('pointermove', event => this.#point(event));
    this.element.addEventListener('pointerleave', () => this.#moveTo(null));
    this.element.addEventListener('blur', () => this.#moveTo(null));
    this.element.addEventListener('keydown', event => this.#press(event));
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width === this.#width || width === 0) return;
      this.#width = width;
      this.#draw();
    }).observe(this.element);
  }

  // `values` has a list for each series, with a number or null for each step. `marks` are horizontal lines,
  // [{value, label, kind}], `bands` spans of time, [{from, to, kind}].
  draw({ from, step, values, marks = [], bands = [] }) {
    this.#data = { from, step, values, marks, bands, size: values[0].length };
    this.#draw();
  }

  #x(index) {
    const { size } = this.#data;
    return kLeft + (this.#width - kLeft - kRight) * (size < 2 ? 1 : index / (size - 1));
  }

  #draw() {
    if (this.#data === null || this.#width === 0) return;
    const { height, stacked } = this.#options;
    const { values, marks, size } = this.#data;
    const tops = stacked ? this.#stack(values) : values;
    let top = 0;
    for (const list of tops) for (const value of list) if (value > top) top = value;
    for (const mark of marks) top = Math.max(top, mark.value);
    const ticks = ticksUpTo(top, height < 120 ? 2 : 4);
    const bottom = height - kBottom;
    const y = value => bottom - (bottom - kTop) * value / ticks.at(-1);
    this.#drawGrid(ticks, y, bottom);
    tops.forEach((list, index) => {
      const points = list.map((value, at) => value === null ? null : [this.#x(at), y(value)]);
      // A stacked series that adds nothing would hide the line below it.
      const adds = at => !stacked || index === 0 || [at - 1, at, at + 1].some(near => values[index][near] > 0);
      this.#lines[index].setAttribute('d', linePath(points.map((point, at) => adds(at) ? point : null)));
      if (stacked && size > 0) this.#areas[index].setAttribute('d', this.#areaPath(points, tops[index - 1], y));
    });
    this.#svg.setAttribute('viewBox', `0 0 ${this.#width} ${height}`);
    this.#svg.setAttribute('width', this.#width);
    this.#showCursor();
  }

  #stack(values) {
    const tops = [];
    for (const list of values) {
      const below = tops.at(-1);
      tops.push(list.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
    }
    return tops;
  }

  #areaPath(points, below, y) {
    const floor = points.map((_, at) => [this.#x(at), y(below?.[at] ?? 0)]).reverse();
    return `${linePath(points)}${linePath(floor).replace('M', 'L')}Z`;
  }

  #drawGrid(ticks, y, bottom) {
    const { axisFormat, timeFormat } = this.#options;
    const { from, step, size, marks, bands } = this.#data;
    const right = this.#width - kRight;
    const to = from + step * Math.max(size - 1, 1);
    const xOf = at => kLeft + (right - kLeft) * (at - from) / (to - from);
    const across = ticks.flatMap(tick => [
      svg('line', { x1: kLeft, x2: right, y1: y(tick), y2: y(tick), class: tick === 0 ? 'axis' : undefined }),
      svg('text', { x: kLeft - 6, y: y(tick) + 3.5, 'text-anchor': 'end' }, axisFormat(tick)),
    ]);
    const wanted = Math.max(2, Math.floor(this.#width / 110));
    const along = timeTicks(from, to, wanted)
      .filter(tick => xOf(tick) > kLeft + 12 && xOf(tick) < right - 18)
      .map(tick => svg('text', { x: xOf(tick), y: bottom + 15, 'text-anchor': 'middle' }, timeFormat(tick)));
    this.#grid.replaceChildren(...across, ...along);
    this.#marks.replaceChildren(
      ...bands.map(({ from: begin, to: end, kind }) => {
        const x = Math.max(kLeft, xOf(begin));
        return svg('rect', { class: kind, x, y: kTop, width: Math.max(1, Math.min(right, xOf(end)) - x), height: bottom - kTop });
      }),
      ...marks.flatMap(({ value, label, kind }) => [
        svg('line', { class: kind, x1: kLeft, x2: right, y1: y(value), y2: y(value) }),
        svg('text', { class: kind, x: right - 2, y: y(value) - 4, 'text-anchor': 'end' }, label),
      ]));
  }

  #point(event) {
    const { left } = this.#svg.getBoundingClientRect();
    if (this.#data === null || this.#data.size === 0) return;
    const inner = this.#width - kLeft - kRight;
    const at = Math.round((event.clientX - left - kLeft) / inner * (this.#data.size - 1));
    this.#moveTo(Math.min(Math.max(at, 0), this.#data.size - 1));
  }

  #press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === 'Escape') this.#moveTo(null);
    if (step === undefined || this.#data === null || this.#data.size === 0) return;
    event.preventDefault();
    const last = this.#data.size - 1;
    this.#moveTo(Math.min(Math.max((this.#cursor ?? last) + step, 0), last));
  }

  #moveTo(cursor) {
    this.#cursor = cursor;
    if (this.#data !== null) this.#showCursor();
  }

  #showCursor() {
    const { height, format, timeFormat } = this.#options;
    const { from, step, values, size } = this.#data;
    const at = Math.min(this.#cursor ?? size - 1, size - 1);
    this.#legend.forEach(({ value }, index) => {
      const number = values[index][at];
      setText(value, number === undefined || number === null ? '–' : format(number));
    });
    setText(this.#time, this.#cursor === null ? '' : timeFormat(from + step * at));
    const x = this.#x(at);
    for (const [name, place] of Object.entries({ x1: x, x2: x, y1: kTop, y2: height - kBottom }))
      this.#pointer.setAttribute(name, place);
    this.#pointer.setAttribute('visibility', this.#cursor === null ? 'hidden' : 'visible');
  }
}

// A small line without axes, for the rows of a table. It needs no label: the numbers stand beside it.
export function sparkline() {
  const path = svg('path', { class: 'line passed' });
  const denied = svg('path', { class: 'line denied' });
  const element = svg('svg', { class: 'spark', viewBox: '0 0 120 24', width: 120, height: 24, 'aria-hidden': 'true' }, path, denied);
  const draw = (passed, deniedValues) => {
    const top = Math.max(1, ...passed, ...deniedValues);
    const points = values => values.map((value, at) => [at * 120 / Math.max(1, values.length - 1), 22.5 - 21 * value / top]);
    path.setAttribute('d', linePath(points(passed)));
    denied.setAttribute('d', deniedValues.some(value => value > 0) ? linePath(points(deniedValues)) : '');
  };
  return { element, draw };
}
