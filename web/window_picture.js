// The picture of a sliding window over two fixed windows: what of each counts now, and how the sum compares with the
// limit.
import { h, setText, svg } from './dom.js';
import { count, durationText, percent, rate, time } from './format.js';

const kHeight = 190;
const kTop = 34;
const kBottom = 158;
const kEdge = 1;

export const counted = cell => cell.admitted + cell.peers + cell.global;

// The counts of the two windows at the time `now`. A key that was read in an earlier window has moved on since.
export function slidingSum(inspection, duration, now) {
  let previous = counted(inspection.previous);
  let current = counted(inspection.current);
  let begins = inspection.current.begins;
  while (now >= begins + duration && (previous > 0 || current > 0)) {
    previous = current;
    current = 0;
    begins += duration;
  }
  if (now >= begins + duration) begins += Math.floor((now - begins) / duration) * duration;
  const elapsed = Math.min(Math.max(now - begins, 0), duration);
  const weight = (duration - elapsed) / duration;
  return { previous, current, begins, elapsed, weight, sum: current + previous * weight };
}

export function windowPicture() {
  const drawing = svg('svg', { class: 'window-picture', height: kHeight, role: 'img' });
  const sumBar = svg('svg', { class: 'sum-bar', height: 58, role: 'img' });
  const formula = h('p', { class: 'formula' });
  const element = h('div', { class: 'picture' }, drawing, sumBar, formula);
  let width = 0;
  let last = null;
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width || now === 0) return;
    width = now;
    if (last !== null) draw(last);
  }).observe(element);

  const text = (x, y, content, kind, anchor = 'middle') => svg('text', { x, y, class: kind, 'text-anchor': anchor }, content);

  // Two fixed windows side by side, and the frame of the last `duration` over them.
  function drawWindows({ sliding, duration, limit }) {
    const { previous, current, begins, elapsed, weight } = sliding;
    const inner = width - 2 * kEdge;
    const half = inner / 2;
    const middle = kEdge + half;
    const now = middle + half * elapsed / duration;
    const frame = now - half;
    const top = Math.max(previous, current, limit ?? 0, 1) * 1.08;
    const y = value => kBottom - (kBottom - kTop) * value / top;
    const label = (value, x, content, isInside, anchor) => kBottom - y(value) > 24
      ? text(x, y(value) + 16, content, isInside ? 'count inside' : 'count', anchor) : text(x, y(value) - 6, content, 'count', anchor);
    const parts = [
      svg('rect', { class: 'previous-out', x: kEdge, y: y(previous), width: Math.max(0, frame - kEdge), height: kBottom - y(previous) }),
      svg('rect', { class: 'previous-in', x: frame, y: y(previous), width: Math.max(0, middle - frame), height: kBottom - y(previous) }),
      svg('rect', { class: 'current-in', x: middle, y: y(current), width: Math.max(0, now - middle), height: kBottom - y(current) }),
      svg('line', { class: 'axis', x1: kEdge, x2: width - kEdge, y1: kBottom, y2: kBottom }),
      svg('line', { class: 'boundary', x1: middle, x2: middle, y1: kTop - 6, y2: kBottom + 5 }),
      svg('rect', { class: 'frame', x: Math.max(frame, kEdge), y: kTop - 14, width: half, height: kBottom - kTop + 14, rx: 4 }),
      text(Math.min(Math.max((frame + now) / 2, 60), width - 60), kTop - 20, `the last ${durationText(duration)}`, 'frame-label'),
      svg('line', { class: 'now', x1: now, x2: now, y1: kTop - 14, y2: kBottom + 5 }),
    ];
    if (limit !== undefined && limit / top > 0.02)
      parts.push(svg('line', { class: 'limit', x1: kEdge, x2: width - kEdge, y1: y(limit), y2: y(limit) }),
        text(width - kEdge - 4, y(limit) - 5, `limit ${count(limit)}`, 'limit-label', 'end'));
    const counted = `${count(previous)} × ${percent(weight, 1)}`;
    const isWide = middle - frame > 8 * counted.length;
    if (previous > 0) parts.push(isWide ? label(previous, (frame + middle) / 2, counted, true) : label(previous, kEdge + 6, counted, false, 'start'));
    if (current > 0) parts.push(now - middle > 7 * count(current).length + 10 ? label(current, (middle + now) / 2, count(current), true) : label(current, now + 6, count(current), false, 'start'));
    parts.push(text(kEdge, kBottom + 18, time(begins - duration), 'tick', 'start'), text(middle, kBottom + 18, time(begins), 'tick'),
      text(width - kEdge, kBottom + 18, time(begins + duration), 'tick', 'end'),
      half > 170 && text(kEdge + half / 2, kBottom + 18, 'previous', 'tick name'), half > 170 && text(middle + half / 2, kBottom + 18, 'current', 'tick name'));
    drawing.replaceChildren(...parts.filter(Boolean));
    drawing.setAttribute('aria-label', `Previous window ${count(previous)}, of which ${percent(weight, 1)} lies in the last ${durationText(duration)}; current window ${count(current)}`);
  }

  // The two parts of the sum, and the limit.
  function drawSum({ sliding, limit, cost }) {
    const { previous, current, weight, sum } = sliding;
    const inner = width - 2 * kEdge;
    const total = sum + (cost ?? 0);
    const top = Math.max(total, limit ?? 0, 1);
    const x = value => kEdge + inner * value / top;
    const weighted = previous * weight;
    const isOver = limit !== undefined && total > limit;
    const parts = [
      svg('rect', { class: 'track', x: kEdge, y: 18, width: inner, height: 20, rx: 3 }),
      svg('rect', { class: 'previous-in', x: kEdge, y: 18, width: x(weighted) - kEdge, height: 20 }),
      svg('rect', { class: 'current-in', x: x(weighted), y: 18, width: x(sum) - x(weighted), height: 20 }),
    ];
    if (cost > 0) parts.push(svg('rect', { class: isOver ? 'cost over' : 'cost', x: x(sum), y: 18, width: Math.max(2, x(total) - x(sum)), height: 20 }));
    if (limit !== undefined) {
      const at = x(limit);
      parts.push(svg('line', { class: 'limit', x1: at, x2: at, y1: 13, y2: 43 }),
        text(Math.max(at - 2, 60), 10, `limit ${count(limit)}`, 'limit-label', at > 60 ? 'end' : 'start'));
    }
    parts.push(text(kEdge, 54, `${rate(sum)} counted`, 'tick', 'start'));
    if (cost > 0) parts.push(text(width - kEdge, 54, `+ ${count(cost)} for the next request`, isOver ? 'tick over' : 'tick', 'end'));
    sumBar.replaceChildren(...parts);
    sumBar.setAttribute('aria-label', limit === undefined ? `The sliding sum is ${rate(sum)}` : `The sliding sum is ${rate(sum)} of the limit ${count(limit)}`);
  }

  // `picture` is {sliding, duration, limit, cost}; limit and cost may be missing.
  function draw(picture) {
    last = picture;
    if (width === 0) return;
    for (const part of [drawing, sumBar]) part.setAttribute('width', width);
    drawing.setAttribute('viewBox', `0 0 ${width} ${kHeight}`);
    sumBar.setAttribute('viewBox', `0 0 ${width} 58`);
    drawWindows(picture);
    drawSum(picture);
    const { previous, current, weight, sum } = picture.sliding;
    setText(formula, `previous ${count(previous)} × ${percent(weight, 1)}  +  current ${count(current)}  =  ${rate(sum)}`);
  }
  return { element, draw };
}
