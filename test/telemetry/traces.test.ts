import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';

const prompt = 'a secret of the customer';
const { log, lines } = createRecordedLog();
let receiver: OtlpReceiver;
let upstream: StubUpstream;
let gateway: TestGateway;
let apiKey: string;

const model = (name: string, provider: string): string => `
  ${name}:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1", output_usd_per_1m: "2" }
    routes: [{ provider: ${provider}, model: ${name}-upstream }]`;

/** Ids of the traces that callers send, by what they do. */
const traces = {
  chat: '0af7651916cd43dd8448eb211c80319c',
  stream: '1af7651916cd43dd8448eb211c80319c',
  shown: '2af7651916cd43dd8448eb211c80319c',
  tool: '3af7651916cd43dd8448eb211c80319c',
  carrier: '4af7651916cd43dd8448eb211c80319c',
  refused: '5af7651916cd43dd8448eb211c80319c',
  image: '6af7651916cd43dd8448eb211c80319c',
  unsampled: '7af7651916cd43dd8448eb211c80319c',
};
const callersSpan = 'b7ad6b7169203331';
const traceparent = (trace: keyof typeof traces, flags = '01'): string =>
  `00-${traces[trace]}-${callersSpan}-${flags}`;

const ask = (body: object, trace: keyof typeof traces, flags?: string): Promise<string> =>
  gateway
    .call('/v1/chat/completions', {
      apiKey,
      body: { messages: [{ role: 'user', content: prompt }], ...body },
      headers: { traceparent: traceparent(trace, flags) },
    })
    .then((response) => response.text());

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  upstream = await startStubUpstream();
  gateway = await startTestGateway({
    log,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=gateways',
      OTEL_SERVICE_NAME: 'causeway-test',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}" }
  ours: { type: openai, base_url: "${upstream.baseUrl}", send_traceparent: true }
models:${model('sold', 'up')}${model('shown', 'ours')}
  picture:
    kind: image
    price: { unit: call, price_usd: "0.04" }
    routes: [{ provider: up, model: picture-upstream }]
`,
  });
  ({ apiKey } = await openAccount(gateway.services));
  await ask({ model: 'sold' }, 'chat');
  await ask({ model: 'sold', stream: true }, 'stream');
  await ask({ model: 'shown' }, 'shown');
  await ask({ model: 'sold' }, 'unsampled', '00');
  // An answer in one piece that is refused is asked for again as a stream.
  upstream.script({ kind: 'error', status: 400 }, { kind: 'error', status: 400 });
  await ask({ model: 'sold' }, 'refused');
  const pictured = await gateway.call('/v1/images/generations?async=true', {
    apiKey,
    body: { model: 'picture', prompt },
    headers: { traceparent: traceparent('image') },
  });
  const { id } = (await pictured.json()) as { id: string };
  await vi.waitUntil(async () => {
    const { status } = (await (await gateway.call(`/v1/jobs/${id}`, { apiKey })).json()) as {
      status: string;
    };
    return status === 'done' || status === 'failed';
  }, 60_000);
  await gateway.call('/mcp', {
    apiKey,
    headers: { accept: 'application/json, text/event-stream', traceparent: traceparent('carrier') },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_balance', arguments: {}, _meta: { traceparent: traceparent('tool') } },
    },
  });
  // Sends what has not been sent.
  await gateway.stop();
});
afterAll(async () => {
  receiver.close();
  await upstream.close();
});

const spansOf = (trace: keyof typeof traces): ReceivedSpan[] =>
  receiver.spans.filter(({ traceId }) => traceId === traces[trace]);
const spanOf = (trace: keyof typeof traces, name: string): ReceivedSpan => {
  const found = spansOf(trace).find((span) => span.name === name);
  if (found === undefined)
    throw new Error(
      `no span ${name} among ${spansOf(trace)
        .map((span) => span.name)
        .join(', ')}`,
    );
  return found;
};

describe('the trace of a chat', () => {
  it('goes from the caller to the request, the operation, the job and the provider', () => {
    const request = spanOf('chat', 'POST /v1/chat/completions');
    const operation = spanOf('chat', 'create_chat_completion');
    const job = spanOf('chat', 'run chat');
    const call = spanOf('chat', 'chat sold-upstream');
    expect(request).toMatchObject({ kind: 2, parentSpanId: callersSpan, isFailed: false });
    expect(operation.parentSpanId).toBe(request.spanId);
    expect(job.parentSpanId).toBe(operation.spanId);
    expect(call).toMatchObject({ kind: 3, parentSpanId: job.spanId });
  });

  it('has the attributes of the conventions for generative AI, and the id of the request', () => {
    expect(spanOf('chat', 'chat sold-upstream').attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'up',
      'gen_ai.request.model': 'sold-upstream',
      'gen_ai.request.max_tokens': expect.any(Number),
      'gen_ai.request.stream': false,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
    expect(spanOf('chat', 'POST /v1/chat/completions').attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'causeway.request_id': expect.stringMatching(/^req_/),
    });
  });

  it('has the commands of the store', () => {
    expect(spansOf('chat').map(({ name }) => name)).toEqual(
      expect.arrayContaining(['findKey', 'openJob', 'finishJob']),
    );
    expect(spanOf('chat', 'openJob')).toMatchObject({
      kind: 3,
      parentSpanId: spanOf('chat', 'create_chat_completion').spanId,
      attributes: { 'db.system.name': 'sqlite', 'db.operation.name': 'openJob' },
    });
  });

  it('tells of a stream when its first piece came', () => {
    expect(spanOf('stream', 'chat sold-upstream').attributes).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
    });
    expect(spanOf('stream', 'create_chat_completion').isFailed).toBe(false);
  });

  it('tells what failed', () => {
    expect(spanOf('refused', 'chat sold-upstream')).toMatchObject({
      isFailed: true,
      attributes: { 'error.type': 'invalid_parameter' },
    });
    expect(spanOf('refused', 'create_chat_completion').isFailed).toBe(true);
    expect(spanOf('refused', 'POST /v1/chat/completions').isFailed).toBe(false);
  });

  it('is not kept if the caller does not keep its own', () => {
    expect(spansOf('unsampled')).toEqual([]);
  });

  it('goes on at a provider that is to get it, and at no other', () => {
    const sent = upstream.requests
      .filter(({ path }) => path === '/v1/chat/completions')
      .map(({ headers }) => headers['traceparent']);
    const { spanId } = spanOf('shown', 'chat shown-upstream');
    expect(sent.filter((header) => header !== undefined)).toEqual([`00-${traces.shown}-${spanId}-01`]);
  });
});

it('a queued job has a trace of its own, with a link to the operation that opened it', () => {
  const opener = spanOf('image', 'create_image');
  const job = receiver.spans.find(({ name }) => name === 'run image');
  expect(job).toMatchObject({
    kind: 5,
    parentSpanId: '',
    links: [{ traceId: traces.image, spanId: opener.spanId }],
    attributes: { 'causeway.sku': 'picture' },
  });
  const call = receiver.spans.find(({ name }) => name === 'generate_content picture-upstream');
  expect(call).toMatchObject({ traceId: job?.traceId, parentSpanId: job?.spanId });
});

it("a tool call belongs to its message's trace and links to the request that carried it", () => {
  const request = spanOf('carrier', 'POST /mcp');
  expect(spanOf('tool', 'tools/call get_balance')).toMatchObject({
    kind: 2,
    parentSpanId: callersSpan,
    links: [{ traceId: traces.carrier, spanId: request.spanId }],
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'get_balance',
      'gen_ai.operation.name': 'execute_tool',
    },
  });
});

it('the log names the span of a request', () => {
  const { spanId } = spanOf('chat', 'POST /v1/chat/completions');
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'request', trace_id: traces.chat, span_id: spanId }),
  );
});

it('no span has a prompt, a key or an account', () => {
  const text = JSON.stringify(receiver.spans);
  expect(text).not.toContain(prompt);
  expect(text).not.toContain('sk_causeway');
  expect(text).not.toMatch(/account_?id/i);
});

it('the collector gets metrics too, the headers and the name of the service', () => {
  expect([...receiver.metrics]).toEqual(
    expect.arrayContaining([
      'gen_ai.client.token.usage',
      'http.server.request.duration',
      'causeway.body_memory.used',
    ]),
  );
  expect(receiver.services[0]).toMatchObject({
    'service.name': 'causeway-test',
    'deployment.environment.name': 'test',
  });
  expect(receiver.headers[0]).toMatchObject({ 'x-team': 'gateways' });
});
