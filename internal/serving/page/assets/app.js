'use strict';
// Everything that comes from the server is put on the page as text, never as HTML.
(() => {
  const at = id => document.getElementById(id);
  const options = JSON.parse(at('charts').textContent);
  const charts = {};
  for (const id of ['rate', 'latency']) {
    charts[id] = echarts.init(at(id));
    charts[id].setOption(options[id]);
  }
  addEventListener('resize', () => Object.values(charts).forEach(c => c.resize()));

  const headers = () => at('token').value ? { Authorization: 'Bearer ' + at('token').value } : {};

  async function get(path) {
    const reply = await fetch(path, { headers: headers() });
    if (reply.status === 401) at('access').hidden = false;
    if (!reply.ok) throw new Error(reply.status + ' ' + (await reply.text()).slice(0, 200));
    return reply.json();
  }

  function element(kind, text, name) {
    const e = document.createElement(kind);
    e.textContent = text;
    if (name) e.className = name;
    return e;
  }

  // fill sets the choices of a select and keeps the chosen one where it still exists.
  function fill(select, choices) {
    const now = JSON.stringify(choices);
    if (select.dataset.choices === now) return false;
    const chosen = select.value;
    select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
    if (choices.some(([value]) => value === chosen)) select.value = chosen;
    select.dataset.choices = now;
    return select.value !== chosen;
  }

  function bytes(n) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
    return (i && n < 100 ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
  }

  // time is the two largest units of a number of seconds.
  function time(s) {
    for (const [n, unit, m, part] of [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's']])
      if (s >= n) return Math.floor(s / n) + ' ' + unit + ' ' + Math.floor(s % n / m) + ' ' + part;
    return s + ' s';
  }

  // part is a number from 0 to 1 in percent.
  const part = x => Number((100 * x).toPrecision(3)) + ' %';

  // calls are the cells of what a version was asked.
  function calls(c) {
    if (!c) return ['', '', '', '', ''];
    const copies = Object.entries(c.copies || {}).map(([outcome, n]) => n + ' ' + outcome).join(', ');
    return [c.count, c.errors, c.p50.toPrecision(3), c.p99.toPrecision(3), copies];
  }

  let models = [];
  function showModels(list) {
    models = list;
    at('models').replaceChildren(...list.flatMap(m => m.versions.map((v, i) => {
      const row = document.createElement('tr');
      const u = v.usage;
      row.append(element('td', i ? '' : m.name), element('td', v.version), element('td', v.state, v.state),
        ...(u ? [bytes(u.memory_bytes), u.queue, time(u.uptime_seconds), part(u.traffic_share) + (u.shadow_share ? ', copies of ' + part(u.shadow_share) : '')] : ['', '', '', '']).map(text => element('td', text)),
        ...calls(v.calls).map(text => element('td', text)), element('td', v.error || ''));
      return row;
    })));
    if (fill(at('model'), list.map(m => [m.name, m.name]))) chosen();
    else showVersions();
  }

  function showVersions() {
    const m = models.find(m => m.name === at('model').value);
    const live = m ? m.versions.filter(v => v.state === 'AVAILABLE') : [];
    fill(at('version'), [['', 'latest'], ...live.map(v => [v.version, v.version])]);
  }

  function showTraffic(t) {
    // A second of traffic between two without is a point that no line meets: dots show it.
    const line = (name, values, dots = false) => ({
      type: 'line', name, showSymbol: dots, symbolSize: 4, data: values.map((v, i) => [(t.from + i) * 1000, v]),
    });
    const rates = [], latencies = [];
    for (const name of Object.keys(t.models).sort()) {
      const m = t.models[name];
      const gaps = values => values.map((v, i) => m.count[i] > m.errors[i] ? v : null);
      rates.push(line(name, m.count));
      if (m.errors.some(n => n > 0)) rates.push(line(name + ' errors', m.errors));
      latencies.push(line(name + ' p50', gaps(m.p50), true), line(name + ' p99', gaps(m.p99), true));
    }
    charts.rate.setOption({ series: rates }, { replaceMerge: ['series'] });
    charts.latency.setOption({ series: latencies }, { replaceMerge: ['series'] });
  }

  let signatures = [];
  async function chosen() {
    showVersions();
    const query = new URLSearchParams({ model: at('model').value, version: at('version').value });
    try {
      signatures = at('model').value ? await get('page/signatures.json?' + query) : [];
    } catch (e) {
      signatures = [];
      at('outcome').textContent = e.message;
    }
    fill(at('signature'), signatures.map(s => [s.key, s.key]));
    signed();
  }

  function signed() {
    const s = signatures.find(s => s.key === at('signature').value);
    at('tensors').textContent = s ? s.verb + ': ' + s.inputs.join(', ') + ' \u2192 ' + s.outputs.join(', ') : '';
    at('body').value = s ? s.body : '';
  }

  async function ask(event) {
    event.preventDefault();
    const s = signatures.find(s => s.key === at('signature').value);
    const version = at('version').value;
    const path = 'v1/models/' + encodeURIComponent(at('model').value) + (version ? '/versions/' + version : '') + ':' + (s ? s.verb : 'predict');
    const start = performance.now();
    try {
      const reply = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers() }, body: at('body').value });
      at('answer').textContent = await reply.text();
      at('answer').className = reply.ok ? '' : 'failed';
      at('outcome').textContent = reply.status + ' in ' + (performance.now() - start).toFixed(1) + ' ms';
    } catch (e) {
      at('answer').textContent = '';
      at('outcome').textContent = e.message;
    }
  }

  at('model').addEventListener('change', () => { at('version').value = ''; chosen(); });
  at('version').addEventListener('change', chosen);
  at('signature').addEventListener('change', signed);
  at('form').addEventListener('submit', ask);

  async function poll() {
    try {
      const [m, t, s] = await Promise.all([get('page/models.json'), get('page/traffic.json'), get('page/server.json')]);
      showModels(m);
      at('server').textContent = [s.build, 'up ' + time(s.uptime_seconds)].filter(Boolean).join(', ');
      showTraffic(t);
      at('trouble').hidden = true;
    } catch (e) {
      at('trouble').textContent = 'The server does not answer: ' + e.message;
      at('trouble').hidden = false;
    }
    setTimeout(poll, 1000);
  }
  poll();
})();
