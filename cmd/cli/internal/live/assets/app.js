'use strict';
// Everything that comes from the server is put on the page as text, never as HTML.
(() => {
  const at = id => document.getElementById(id);
  const empty = JSON.parse(at('chart').textContent);
  const colors = ['#3366cc', '#dc3912', '#109618', '#990099', '#0099c6', '#dd8800', '#b82e2e', '#316395', '#66aa00', '#994499', '#22aa99', '#6633cc'];
  const runs = new Map(); // by name
  const hidden = new Set(), shades = new Map(), charts = new Map();
  let order = [], due = false;

  const isLoss = tag => tag.toLowerCase().split(/[^a-z]+/).includes('loss') && !/scale/i.test(tag);
  // rank puts what people look at first in front, as in a report.
  const rank = tag => ({ loss: '0', accuracy: '1', learning_rate: '~0', 'global_step/sec': '~1' }[tag] || '2' + tag);

  function shade(name) {
    if (!shades.has(name)) shades.set(name, colors[shades.size % colors.length]);
    return shades.get(name);
  }

  function element(kind, text, name) {
    const e = document.createElement(kind);
    e.textContent = text;
    if (name) e.className = name;
    return e;
  }

  const number = x => x === null || x === undefined ? '' : Number(x.toPrecision(5)).toString();

  // time is the two largest units of a number of seconds.
  function time(s) {
    s = Math.round(s);
    for (const [n, unit, m, part] of [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's']])
      if (s >= n) return Math.floor(s / n) + ' ' + unit + ' ' + Math.floor(s % n / m) + ' ' + part;
    return s + ' s';
  }

  function last(run, tag) {
    const c = run.curves.find(c => c.run === 'train' && c.tag === tag);
    return c ? c.values[c.values.length - 1] : undefined;
  }

  function row(run) {
    const r = document.createElement('tr'), first = document.createElement('td'), box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = !hidden.has(run.name);
    box.setAttribute('aria-label', 'show ' + run.name);
    box.onchange = () => {
      if (box.checked) hidden.delete(run.name);
      else hidden.add(run.name);
      draw();
    };
    const swatch = element('span', '', 'swatch');
    swatch.style.background = shade(run.name);
    first.append(box, swatch);
    r.append(first, element('td', run.name), element('td', run.state, run.state), element('td', run.step < 0 ? '' : run.step, 'n'),
      element('td', number(last(run, 'global_step/sec')), 'n'), element('td', number(last(run, 'loss')), 'n'), element('td', time(run.seconds), 'n'),
      element('td', run.damage || run.reason || '', run.damage ? 'damage' : 'quiet'));
    return r;
  }

  // smooth is the exponential average of a curve, without the bias of its start.
  function smooth(values, weight) {
    let sum = 0, norm = 0;
    return values.map(v => {
      if (v === null || weight === 0) return v;
      sum = weight * sum + (1 - weight) * v;
      norm = weight * norm + 1 - weight;
      return sum / norm;
    });
  }

  function series(run, curve, weight, log) {
    const values = smooth(curve.values, weight);
    return {
      type: 'line', name: curve.run === 'train' ? run.name : run.name + ' ' + curve.run, showSymbol: values.length <= 20, symbolSize: 4,
      lineStyle: { type: curve.run === 'train' ? 'solid' : 'dashed', width: 2 }, itemStyle: { color: shade(run.name) },
      data: curve.steps.map((s, i) => [s, values[i] === null || log && values[i] <= 0 ? '-' : values[i]]),
    };
  }

  function draw() {
    due = false;
    at('runs').replaceChildren(...order.filter(name => runs.has(name)).map(name => row(runs.get(name))));
    at('none').hidden = order.length > 0;
    const byTag = new Map(), weight = Number(at('smoothing').value), filter = at('filter').value;
    for (const name of order) {
      const run = runs.get(name);
      if (!run || hidden.has(name)) continue;
      for (const c of run.curves) {
        if (!c.tag.includes(filter)) continue;
        if (!byTag.has(c.tag)) byTag.set(c.tag, []);
        byTag.get(c.tag).push(series(run, c, weight, at('log').checked && isLoss(c.tag)));
      }
    }
    const tags = [...byTag.keys()].sort((a, b) => rank(a) < rank(b) ? -1 : 1);
    for (const [tag, c] of charts) {
      if (byTag.has(tag)) continue;
      c.dispose();
      charts.delete(tag);
    }
    at('charts').replaceChildren(...tags.map(tag => charts.has(tag) ? charts.get(tag).getDom() : element('div', '', 'chart')));
    tags.forEach((tag, i) => {
      if (!charts.has(tag)) {
        const c = echarts.init(at('charts').children[i]);
        c.setOption(empty);
        c.setOption({ title: { text: tag }, animation: false });
        charts.set(tag, c);
      }
      const log = at('log').checked && isLoss(tag);
      charts.get(tag).setOption({
        yAxis: { type: log ? 'log' : 'value', scale: true }, legend: { show: true, type: 'scroll', top: 26, left: 'center', data: byTag.get(tag).map(s => s.name) }, series: byTag.get(tag),
      }, { replaceMerge: ['series'] });
    });
  }

  function soon() {
    if (due) return;
    due = true;
    setTimeout(draw, 100);
  }

  for (const id of ['smoothing', 'log', 'filter']) at(id).addEventListener('input', soon);
  at('view').addEventListener('submit', e => e.preventDefault());
  addEventListener('resize', () => charts.forEach(c => c.resize()));

  const source = new EventSource('events');
  source.onopen = () => { at('link').textContent = 'live'; };
  source.onerror = () => { at('link').textContent = source.readyState === EventSource.CLOSED ? 'the server refused: reload the page' : 'disconnected, trying again'; };
  source.addEventListener('runs', e => {
    order = JSON.parse(e.data);
    for (const name of runs.keys()) if (!order.includes(name)) runs.delete(name);
    soon();
  });
  source.addEventListener('run', e => {
    const run = JSON.parse(e.data);
    runs.set(run.name, run);
    soon();
  });
})();
