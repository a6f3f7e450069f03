import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allMetrics, prometheusName } from '../../src/telemetry/names.ts';
import { dashboardExpressions, ruleExpressions, seriesOf } from './expressions.ts';
import { startUsedGateway, type UsedGateway } from './used-gateway.ts';

let used: UsedGateway;
let url: string;

/** A word that no setting has. Callers put it wherever they can. */
const invented = 'zzyzx';

beforeAll(async () => {
  used = await startUsedGateway();
  url = used.search.gateway.services.telemetry?.url ?? '';
}, 60_000);
afterAll(() => used.stop());

/** The names of the series in a text for Prometheus. */
const namesIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/^([a-z]\w*)[{ ]/gm)].map(([, name = '']) => name));

const labelsOf = (text: string, metric: string): Set<string> =>
  new Set(
    [...text.matchAll(new RegExp(`^${metric}(?:_count|_bucket|_sum)?\\{(.*)\\} `, 'gm'))].flatMap(
      ([, labels = '']) =>
        [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).filter((label) => label !== 'le'),
    ),
  );

const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length) ?? Number.NaN,
  );

describe('the metrics of a gateway that was used', () => {
  let text: string;
  beforeAll(async () => {
    await used.useAll();
    text = await used.scrape();
  });

  it('has every metric of the table, with its labels and no others', () => {
    const names = namesIn(text);
    for (const metric of allMetrics) {
      const name = prometheusName(metric);
      expect(names).toContain(metric.kind === 'histogram' ? `${name}_count` : name);
      const known = metric.labels.map((label) => label.replaceAll('.', '_'));
      const invented = [...labelsOf(text, name)].filter((label) => !known.includes(label));
      expect({ name, invented }).toEqual({ name, invented: [] });
    }
  });

  it('has every series that the dashboard and the rules ask for', () => {
    const names = namesIn(text);
    const asked = [...dashboardExpressions(), ...ruleExpressions()];
    expect(asked.flatMap(seriesOf).filter((name) => !names.has(name))).toEqual([]);
    // Prometheus itself makes `up`.
    expect(asked.filter((expression) => seriesOf(expression).length === 0)).toMatchObject([
      { from: 'CausewayDown' },
    ]);
  });

  it('tells what was charged, by SKU', () => {
    const sku = 'causeway_kind="image",causeway_sku="imagemodel-1.0"';
    expect(valueOf(text, `causeway_charges_usd_total{${sku}}`)).toBeGreaterThan(0);
    expect(valueOf(text, `causeway_job_duration_seconds_count{${sku},causeway_status="done"}`)).toBe(1);
  });

  it('tells of a failed provider by its class, and of a tool call', () => {
    expect(text).toMatch(
      /causeway_provider_errors_total\{gen_ai_provider_name="sandbox",causeway_failure="\w+"/,
    );
    expect(
      valueOf(
        text,
        'mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="get_balance"}',
      ),
    ).toBe(1);
  });

  it.each([
    ['echo', ''],
    ['fail', ',error_type="tool_error"'],
    ['die', ',error_type="outcome_unknown"'],
  ])('tells of a call of the mounted tool %s, by its server', (tool, error) => {
    const labels = `mcp_method_name="tools/call",causeway_server="hostile",gen_ai_tool_name="${tool}"${error}`;
    expect(valueOf(text, `mcp_client_operation_duration_seconds_count{${labels}}`)).toBe(1);
  });

  it('tells of payments by the states that they reached', () => {
    for (const state of ['produced', 'settled', 'delivered'])
      expect(valueOf(text, `causeway_payment_moves_total{causeway_state="${state}"}`)).toBeGreaterThan(0);
    expect(text).toMatch(/causeway_payments_settlements_left\{causeway_network="eip155:\d+"\} [1-9]/);
  });

  it('names no account, key or wallet', () => {
    const { gateway, chains } = used.search;
    for (const secret of [
      'sk_causeway',
      gateway.apiKey,
      chains.base.buyer.address,
      chains.base.seller.address,
    ])
      expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
  });
});

describe('what callers invent', () => {
  it('is in no label, and makes no more series', async () => {
    const { gateway } = used.search;
    const post = {
      method: 'POST',
      body: { model: invented, messages: [{ role: 'user', content: invented }] },
    };
    const sendInvented = async (word: string): Promise<void> => {
      const mcp = { jsonrpc: '2.0', id: word, method: 'tools/call', params: { name: word, arguments: {} } };
      const calls: Promise<Response>[] = [
        gateway.call(`/v1/${word}`),
        gateway.call(`/${word}`, { method: 'DELETE' }),
        gateway.call(`/results/${word}.png`),
        gateway.call(`/v1/jobs/${word}`),
        gateway.call(`/mcp/${word}`, { body: mcp }),
        gateway.call('/mcp', { body: mcp, headers: { accept: 'application/json, text/event-stream' } }),
        gateway.call('/v1/balance', { apiKey: `sk_causeway_${word}` }),
        gateway.call('/v1/chat/completions', { ...post, body: { ...post.body, model: word } }),
        gateway.call(`/v1/search?query=${word}`, { apiKey: null, headers: { traceparent: word } }),
      ];
      for (const response of await Promise.all(calls)) await response.text();
    };
    await sendInvented(invented);
    const count = async (): Promise<number> => {
      const text = await used.scrape();
      expect(text).not.toContain(invented);
      return text.split('\n').filter((line) => line.startsWith('http_') || line.startsWith('mcp_')).length;
    };
    const before = await count();
    for (let turn = 0; turn < 20; turn += 1) await sendInvented(`${invented}${turn}`);
    expect(await count()).toBe(before);
  });
});

describe('the address of the metrics', () => {
  it('is on this machine alone, unless a host is named', () => {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    expect(used.search.gateway.services.notices()).toContain(`Metrics are served at ${url}.`);
  });

  it('is apart from customers: their port has no metrics', async () => {
    expect((await used.search.gateway.call('/metrics')).status).toBe(404);
  });

  it('answers nothing else', async () => {
    expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(404);
    expect((await fetch(url)).headers.get('content-type')).toContain('version=0.0.4');
  });
});
