import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nanoPerUsd } from '../../src/kit/money.ts';
import { openAccount } from '../mcp/open-account.ts';
import { dataUri, makeBomb, makeImage, svg } from '../media/input-images.ts';
import { startHttp } from '../http/local-hosts.ts';
import { connectAssistant, refusal, tool, type Body } from './account-calls.ts';
import { imageCalls, path, plain, startImageGateway } from './image-calls.ts';
import type { TestGateway } from './start-test-gateway.ts';

let images: Awaited<ReturnType<typeof startImageGateway>>;
let gateway: TestGateway;
let assistant: Client;
let red: Buffer;

beforeAll(async () => {
  images = await startImageGateway();
  ({ gateway } = images);
  assistant = await connectAssistant(gateway, gateway.apiKey);
  red = await makeImage('png', { width: 60, height: 40, colour: '#ff0000' });
});

afterAll(async () => {
  await assistant.close();
  await images.stop();
});

const { post, make, untilEnd, available } = imageCalls(() => gateway);

describe('an image request that cannot be served', () => {
  interface Other {
    query?: string;
    status?: number;
    code?: string;
  }
  const png = (bytes: Buffer): string => dataUri('image/png', bytes);
  const url = 'https://a.example/a.png';
  const model: Other = { status: 400, code: 'model_not_found' };
  const format: Other = { code: 'unsupported_response_format' };
  const later: Other = { query: '?async=true' };
  /** Name, fields, the `param` of the refusal; 422 `invalid_parameter` unless told. */
  const cases: [what: string, more: Body, param: string, other?: Other][] = [
    ['no model', { model: undefined }, 'model'],
    ['an empty model', { model: '' }, 'model'],
    ['a model of 129 characters', { model: 'm'.repeat(129) }, 'model'],
    ['an unknown model of 128 characters', { model: 'm'.repeat(128) }, 'model', model],
    ['a text model', { model: 'textmodel-3.5-flash' }, 'model', model],
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['an empty prompt', { prompt: '' }, 'prompt'],
    ['a prompt of 262145 characters', { prompt: 'p'.repeat(262_145) }, 'prompt'],
    ['base64 answers', { response_format: 'b64_json' }, 'response_format', format],
    ['base64 with a callback', { response_format: 'b64_json', webhook_url: url }, 'response_format', format],
    ['an unknown answer format', { response_format: '' }, 'response_format', format],
    ['a number as answer format', { response_format: 5 }, 'response_format'],
    ['two images', { n: 2 }, 'n'],
    ['no images', { n: 0 }, 'n'],
    ['an unknown ratio', { aspect_ratio: '5:7' }, 'aspect_ratio'],
    ['a size in words', { size: 'large' }, 'size'],
    ['a size and another ratio', { size: '1024x1024', aspect_ratio: '16:9' }, 'size'],
    ['a size without width', { size: '0x100' }, 'size'],
    ['an async that is no boolean', {}, 'async', { query: '?async=maybe' }],
    ['an async that is another number', {}, 'async', { query: '?async=10' }],
    ['an empty async', {}, 'async', { query: '?async=' }],
    ['a stream', { stream: true }, 'stream'],
    ['a callback without async', { webhook_url: url }, 'webhook_url'],
    ['a callback at a private address', { webhook_url: 'https://10.0.0.1/' }, 'webhook_url', later],
    ['custom data that are a list', { custom_data: [] }, 'custom_data'],
    ['custom data that are a text', { custom_data: '{}' }, 'custom_data'],
    ['custom data that are null', { custom_data: null }, 'custom_data'],
    ['custom data of 4097 bytes', { custom_data: { a: 'y'.repeat(4_089) } }, 'custom_data'],
    ['as many in fewer characters', { custom_data: { a: `y${'é'.repeat(2_044)}` } }, 'custom_data'],
    ['an image that is a number', { image: 5 }, 'image'],
    ['an empty image in a list', { image: [''] }, 'image.0'],
    ['seventeen images', { image: Array.from({ length: 17 }, () => url) }, 'image'],
    ['an image by another scheme', { image: 'ftp://a.example/a.png' }, 'image'],
    ['an image of a private host', { image: 'https://10.0.0.1/a.png' }, 'image'],
    ['an image of a cloud’s metadata', { image: ['https://169.254.169.254/latest'] }, 'image.0'],
    ['an image on another port of a private host', { image: 'https://10.0.0.1:8443/a.png' }, 'image'],
    ['an image behind a password', { image: 'https://me:secret@a.example/a.png' }, 'image'],
    ['an image that is no base64', { image: 'data:image/png;base64,%%%' }, 'image'],
    ['a drawing', { image: dataUri('image/svg+xml', svg) }, 'image'],
    ['an image of far too many pixels', { image: png(makeBomb(30_000, 30_000)) }, 'image'],
    ['an image that is cut off', { image: png(makeBomb(100, 100, 50)) }, 'image'],
  ];

  it.each(cases)('with %s is refused by name', async (_what, more, param, other = {}) => {
    const { query = '', status = 422, code = 'invalid_parameter' } = other;
    const response = await post({ ...plain, ...more }, query);
    expect(await refusal(response)).toEqual({ status, code, param });
  });

  it('does not become asynchronous by its body over REST', async () => {
    for (const more of [{}, { webhook_url: url }]) {
      const response = await post({ ...plain, ...more, async: true });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({
        error: { param: 'async', message: 'async: goes in the query: ?async=true' },
      });
    }
  });

  it('is refused over MCP with the same words, but for the names of tools', async () => {
    for (const [, more, , { query } = {}] of cases) {
      const body = { ...plain, ...more };
      // A tool takes the default model for a call without one.
      if (query !== undefined || body.model === undefined) continue;
      const overRest = (await (await post(body)).text()).replace('GET /v1/models', 'list_models');
      expect(await tool(assistant, 'create_image', body)).toEqual(JSON.parse(overRest));
    }
  });

  it('names the image of a list that is wrong, keeps none of the others, and takes no money', async () => {
    const before = await available();
    const image = [dataUri('image/png', red), dataUri('image/jpeg', red), dataUri('image/png', red)];
    const response = await post({ ...plain, image });
    expect(await refusal(response)).toEqual({ status: 422, code: 'invalid_parameter', param: 'image.1' });
    expect(await available()).toBe(before);
  });

  it('is refused for its price before anybody is asked for an image', async () => {
    let asked = 0;
    const host = await startHttp((_request, response) => {
      asked += 1;
      response.end();
    });
    const { apiKey } = await openAccount(gateway.services, { amount: nanoPerUsd / 100n, isSandbox: true });
    for (const image of [undefined, `${host}/a.png`]) {
      const response = await gateway.call(path, { body: { ...plain, image }, apiKey });
      expect(await response.json()).toMatchObject({
        error: { type: 'insufficient_quota', code: 'insufficient_balance' },
      });
      expect(response.status).toBe(402);
    }
    expect(asked).toBe(0);
  });
});

describe('the limits of a request', () => {
  it('let the longest prompt and the largest custom data in', async () => {
    const custom_data = { a: 'y'.repeat(4_088) };
    expect(Buffer.byteLength(JSON.stringify(custom_data))).toBe(4_096);
    const job = await make({ prompt: 'p'.repeat(262_144), custom_data });
    expect(job).toMatchObject({ status: 'done', custom_data });
  });

  it('measure custom data as compact JSON, with room for the escapes and spaces of its text', async () => {
    const escaped = (count: number): string => String.raw`{ "a":  "${String.raw`\u4e2d`.repeat(count)}" }`;
    const create = (data: string): Promise<Response> =>
      post(`{"model":"imagemodel-1.0","prompt":"x","custom_data":${data}}`);
    const taken = await create(escaped(1_362));
    expect(taken.status).toBe(200);
    expect(await taken.text()).toContain(`"custom_data":${escaped(1_362)}`);
    for (const data of [escaped(1_363), `{"a":${' '.repeat(24_577)}1}`])
      expect(await refusal(await create(data))).toMatchObject({ status: 422, param: 'custom_data' });
  });

  it('give custom data back unchanged, whatever its members are called', async () => {
    const text =
      '{"__proto__":{"a":1},"constructor":[1.5e-7,"\\u0000",null,{}],"":true,"z":"Zoë 🎨","a":-0.1}';
    const response = await post(`{"model":"imagemodel-1.0","prompt":"x","custom_data":${text}}`);
    expect(await response.text()).toContain(`"custom_data":${JSON.stringify(JSON.parse(text))}`);
  });

  const verbatim =
    '{"b": 1.0, "2":12345678901234567890, "1":[-0, 1e2, 1E400], "a":"\\u00e9 \\"}", "a":"ü", "n":{"x":0.10}}';

  it.each(['', '?async=true'])(
    'give custom data back as the same text wherever a job is read%s',
    async (query) => {
      const headers = { 'idempotency-key': `verbatim${query}` };
      const create = async (data: string): Promise<Response> =>
        gateway.call(path + query, {
          body: `{"custom_data":{"not":"this"},"model":"imagemodel-1.0","prompt":"\\"custom_data\\":{}","image":[],"custom\\u005fdata" : ${data} }`,
          headers,
          apiKey: gateway.apiKey,
        });
      const created = await (await create(verbatim)).text();
      expect(created).toContain(`"custom_data":${verbatim},`);
      const { id } = JSON.parse(created) as { id: string };
      await untilEnd(id);
      expect(await (await gateway.call(`/v1/jobs/${id}`, { apiKey: gateway.apiKey })).text()).toContain(
        `"custom_data":${verbatim},`,
      );
      const replayed = await create(verbatim);
      expect(replayed.headers.get('idempotent-replayed')).toBe('true');
      expect(await replayed.text()).toContain(`"custom_data":${verbatim},`);
      // The same double, another number.
      expect((await create(verbatim.replace('67890', '67891'))).status).toBe(409);

      const read = await assistant.callTool({ name: 'get_job', arguments: { job_id: id } });
      expect((read.content as { text: string }[])[0]?.text).toContain(`"custom_data":${verbatim},`);
      const { contents } = await assistant.readResource({ uri: `causeway://jobs/${id}` });
      expect(contents).toMatchObject([{ text: expect.stringContaining(`"custom_data":${verbatim},`) }]);
    },
  );

  it('give custom data back to a tool with the same numbers in its structured content', async () => {
    const { id } = (await (
      await post(`{"model":"imagemodel-1.0","prompt":"x","custom_data":${verbatim}}`)
    ).json()) as Body;
    const answer = await gateway.call('/mcp', {
      apiKey: gateway.apiKey,
      headers: { accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'get_job', arguments: { job_id: id } },
      },
    });
    expect(await answer.text()).toContain(
      '"custom_data":{"1":[-0,1e2,1E400],"2":12345678901234567890,"b":1.0,"a":"ü","n":{"x":0.10}}',
    );
  });

  it('refuse custom data of a tool with a number that has lost digits on its way', async () => {
    const answer = await tool(assistant, 'create_image', {
      ...plain,
      custom_data: { orders: [{ id: 2 ** 53 }] },
    });
    expect(answer).toMatchObject({ error: { code: 'invalid_parameter', param: 'custom_data' } });
    const taken = { order: 2 ** 53 - 1, share: 0.1 };
    expect(await tool(assistant, 'create_image', { ...plain, custom_data: taken })).toMatchObject({
      custom_data: taken,
    });
  });
});
