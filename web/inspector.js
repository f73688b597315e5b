// The view of one key: why it is denied, and what would change that.
import { explain } from './api.js';
import { card, field, h, setError, setText } from './dom.js';
import { count, durationText, parseDuration, span, when } from './format.js';
import { componentsCard, countsTable, facts, regionsCard } from './inspector_cards.js';
import { namespaceInput } from './keys.js';
import { linkTo } from './links.js';
import { deleteOverride, editOverride, isDuration, kDurationRule, kLimitRule, wholeNumber } from './override_editor.js';
import { slidingSum, windowPicture } from './window_picture.js';

const kDefaultDuration = 60_000;

// "A request of cost 1 would be denied now, and pass in 12 s, at 10:20:30, if no other came."
export function verdictText({ cost, passed, remaining, retryAt, limit }, now) {
  const request = cost === 0 ? 'A request that spends nothing' : `A request of cost ${count(cost)}`;
  if (passed) return `${request} would pass. ${count(remaining)} would remain of ${count(limit)}.`;
  if (retryAt === undefined) return `${request} would be denied, and never pass with a limit of ${count(limit)}.`;
  return `${request} would be denied now, and pass in ${span(Math.max(0, retryAt - now))}, at ${when(retryAt, now)}, if no other came.`;
}

// What decides the limit of the key.
function limitSource({ override, verdict }, isFallback) {
  if (override !== undefined) return `override ${override.identifier}`;
  if (verdict === undefined) return 'unknown: no request was seen here';
  return isFallback ? 'as asked' : 'of the last request here';
}

export function inspectorView(context, values) {
  const { api, may, announce, navigate } = context;
  const asked = {
    namespace: values.namespace ?? '',
    identifier: values.identifier ?? '',
    duration: values.duration ? parseDuration(values.duration) : kDefaultDuration,
  };
  let inspection = null;
  let skew = 0; // of the server's clock to ours
  let isAsking = false;
  let trial = null; // of the what-if

  const namespace = namespaceInput(context, { id: 'inspect-namespace', value: asked.namespace, required: true });
  const identifier = h('input', {
    id: 'inspect-identifier',
    type: 'text',
    class: 'mono',
    value: asked.identifier,
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 512,
    required: true,
  });
  const duration = h('input', {
    id: 'inspect-duration',
    type: 'text',
    value: durationText(asked.duration || kDefaultDuration),
    autocomplete: 'off',
    size: 6,
  });
  const form = h(
    'form',
    { class: 'inspect-form', novalidate: true, role: 'search', 'aria-label': 'Key' },
    field('Namespace', namespace.input),
    namespace.list,
    field('Identifier', identifier),
    field('Duration', duration),
    h('button', { type: 'submit', class: 'primary' }, 'Inspect'),
  );
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const verdict = h('div', { class: 'verdict' });
  const verdictTitle = h('strong');
  const verdictDetail = h('span');
  verdict.append(verdictTitle, verdictDetail);
  const note = h('p', { class: 'note', hidden: true });
  const picture = windowPicture();
  const limitText = h('p', { class: 'limit-text' });
  const overrideButtons = h('div', { class: 'buttons' });
  const factList = h('dl', { class: 'facts' });
  const counts = countsTable();
  const components = componentsCard();
  const regions = regionsCard();

  const trialInputs = {
    limit: h('input', { id: 'trial-limit', type: 'text', inputmode: 'numeric', autocomplete: 'off' }),
    cost: h('input', { id: 'trial-cost', type: 'text', inputmode: 'numeric', autocomplete: 'off', value: '1' }),
    duration: h('input', { id: 'trial-duration', type: 'text', autocomplete: 'off' }),
  };
  const trialAnswer = h('p', { class: 'trial-answer', 'aria-live': 'polite' }, ' ');
  const trialForm = h(
    'form',
    { class: 'trial', novalidate: true },
    field('Limit', trialInputs.limit),
    field('Cost', trialInputs.cost),
    field('Duration', trialInputs.duration),
    h('button', { type: 'submit' }, 'Try'),
    trialAnswer,
  );

  const results = h(
    'div',
    { class: 'stack', hidden: true },
    verdict,
    note,
    h(
      'div',
      { class: 'columns wide-left' },
      h('section', { class: 'card' }, h('h2', {}, 'The sliding window'), picture.element),
      h(
        'div',
        { class: 'stack' },
        h('section', { class: 'card' }, h('h2', {}, 'Limit'), limitText, overrideButtons),
        h(
          'section',
          { class: 'card' },
          h('h2', {}, 'What if'),
          h('p', { class: 'hint' }, 'Tries a request without spending anything.'),
          trialForm,
        ),
      ),
    ),
    h('div', { class: 'columns' }, card('Counts', counts.element), card('State', factList)),
    h('div', { class: 'columns' }, components.element, regions.element),
  );
  const start = h(
    'p',
    { class: 'empty', hidden: asked.identifier !== '' },
    'Name a key, or choose one of the ',
    h('a', { href: '#keys' }, 'top keys'),
    '.',
  );
  const element = h(
    'div',
    { class: 'view' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Inspector')),
    h('section', { class: 'card' }, form),
    problem,
    start,
    results,
  );

  form.addEventListener('submit', event => {
    event.preventDefault();
    const ms = parseDuration(duration.value);
    setError(namespace.input, namespace.input.value === '' && 'Name a namespace.');
    setError(identifier, identifier.value === '' && 'Name an identifier.');
    setError(duration, !isDuration(ms) && `Allowed: ${kDurationRule}.`);
    if (namespace.input.value === '' || identifier.value === '' || !isDuration(ms)) return;
    navigate(
      linkTo('inspect', {
        namespace: namespace.input.value,
        identifier: identifier.value,
        duration: durationText(ms),
      }),
    );
  });

  function drawMoving() {
    const now = Date.now() + skew;
    const { verdict: judged } = inspection;
    const sliding = slidingSum(inspection, inspection.duration, now);
    picture.draw({ sliding, duration: inspection.duration, limit: judged?.limit, cost: judged?.cost });
    if (sliding.begins === inspection.current.begins) counts.draw(inspection, sliding.weight);
    factList.replaceChildren(...facts(inspection, now).filter(Boolean));
    verdict.hidden = judged === undefined;
    if (judged === undefined) return;
    verdict.className = `verdict ${judged.passed ? 'passes' : 'denied'}`;
    setText(verdictTitle, judged.passed ? 'Passes now' : 'Denied now');
    setText(verdictDetail, verdictText(judged, now));
  }

  function drawLimit() {
    const { override, verdict: judged } = inspection;
    const isFallback =
      override === undefined &&
      values.limit !== undefined &&
      judged?.limit === Number(values.limit) &&
      !inspection.held;
    limitText.replaceChildren(
      h(
        'span',
        { class: 'big' },
        judged === undefined ? '–' : `${count(judged.limit)} / ${durationText(inspection.duration)}`,
      ),
      h('span', { class: 'muted identifier' }, limitSource(inspection, isFallback)),
    );
    const isExact = override !== undefined && override.identifier === asked.identifier;
    const onSaved = ({ identifier: name }) => {
      announce(`Saved the override of ${name}.`);
      load();
    };
    const button = (label, onclick, kind) => h('button', { type: 'button', class: kind, onclick }, label);
    const edit = (target, isNew) => () => editOverride(context, { override: target, isNew, onSaved });
    const wanted = JSON.stringify([override, judged?.limit]);
    if (overrideButtons.shown === wanted) return; // a button keeps its focus
    overrideButtons.shown = wanted;
    overrideButtons.replaceChildren(
      ...[
        may('set_override') &&
          isExact &&
          button('Change the limit', edit({ ...override, namespace: asked.namespace }, false), 'primary'),
        may('set_override') &&
          !isExact &&
          button(
            'Set a limit for this key',
            edit(
              {
                namespace: asked.namespace,
                identifier: asked.identifier,
                limit: judged?.limit,
                duration: inspection.duration,
              },
              true,
            ),
            'primary',
          ),
        may('delete_override') &&
          isExact &&
          button(
            'Delete the override',
            () =>
              deleteOverride(context, {
                override: { ...override, namespace: asked.namespace },
                onDeleted: () => {
                  announce('Deleted the override.');
                  load();
                },
              }),
            'quiet',
          ),
      ].filter(Boolean),
    );
  }

  async function ask(body) {
    const began = Date.now();
    const answer = await api.post('inspect', { namespace: asked.namespace, identifier: asked.identifier, ...body });
    skew = answer.now - (began + Date.now()) / 2;
    return { ...answer, duration: body.duration };
  }

  async function load() {
    if (isAsking || asked.identifier === '') return;
    isAsking = true;
    try {
      let answer = await ask({ duration: asked.duration });
      const { override } = answer;
      // The counts of a key with an override are those of the override's duration.
      if (override !== undefined && override.duration !== asked.duration)
        answer = await ask({ duration: override.duration });
      else if (answer.verdict === undefined && values.limit !== undefined)
        answer = await ask({ duration: asked.duration, limit: Number(values.limit) });
      inspection = answer;
      note.hidden = inspection.duration === asked.duration;
      setText(
        note,
        `An override replaces the duration: requests of this key count in windows of ${durationText(inspection.duration)}.`,
      );
      problem.hidden = true;
      results.hidden = false;
      if (trialInputs.limit.value === '' && !trialForm.contains(document.activeElement))
        trialInputs.limit.value = inspection.verdict?.limit ?? '';
      if (trialInputs.duration.value === '') trialInputs.duration.value = durationText(inspection.duration);
      drawMoving();
      drawLimit();
      components.draw(inspection);
      regions.draw(inspection);
    } catch (error) {
      problem.hidden = false;
      setText(problem, explain(error));
    }
    isAsking = false;
  }

  async function loadTrial() {
    const mine = trial;
    try {
      const answer = await ask(mine);
      if (mine !== trial) return;
      trialAnswer.className = `trial-answer ${answer.verdict.passed ? 'passes' : 'denied'}`;
      setText(trialAnswer, verdictText(answer.verdict, answer.now));
    } catch (error) {
      setText(trialAnswer, explain(error));
    }
  }

  trialForm.addEventListener('submit', event => {
    event.preventDefault();
    const next = {
      limit: wholeNumber(trialInputs.limit.value),
      cost: wholeNumber(trialInputs.cost.value),
      duration: parseDuration(trialInputs.duration.value),
    };
    setError(trialInputs.limit, Number.isNaN(next.limit) && `Allowed: ${kLimitRule}.`);
    setError(trialInputs.cost, Number.isNaN(next.cost) && `Allowed: ${kLimitRule}.`);
    setError(trialInputs.duration, !isDuration(next.duration) && `Allowed: ${kDurationRule}.`);
    if (Number.isNaN(next.limit) || Number.isNaN(next.cost) || !isDuration(next.duration)) return;
    trial = next;
    loadTrial();
  });

  if (asked.identifier !== '' && !isDuration(asked.duration)) setError(duration, `Allowed: ${kDurationRule}.`);
  else load();
  return {
    element,
    title: 'Inspector',
    onSecond: () => {
      if (inspection !== null) drawMoving();
      load();
    },
  };
}
