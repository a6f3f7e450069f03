import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { responseAsker, startResponses, balanceOf, model, weather } from './response-calls.ts';
import { type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  ({ gateway, openai } = await startResponses());
});

afterAll(() => gateway.stop());

const ask = responseAsker(() => gateway);

const openHolds = async (): Promise<number> => (await gateway.services.store.checkLedger()).openHolds;

describe('a request that cannot be served', () => {
  it.each<[string, object]>([
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['store', { store: true }],
    ['background', { background: true }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['top_logprobs', { top_logprobs: 2 }],
    ['max_tool_calls', { max_tool_calls: 2 }],
    ['tools.0.type', { tools: [{ type: 'web_search' }] }],
    ['tools.0.type', { tools: [{ type: 'custom', name: 'sql', format: { type: 'grammar' } }] }],
    [
      'input.0.content.0.type',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
    ],
    [
      'input.0.content.0.type',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'x' }] }] },
    ],
    ['input.0.content.0.type', { input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
  ])('is refused naming %s: %j', async (param, more) => {
    const before = await balanceOf(gateway);
    const answer = await ask({ input: 'Hi', ...more });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: {
        type: 'invalid_request_error',
        code: param.includes('.') ? 'invalid_value' : 'unknown_parameter',
        param,
        message: expect.stringContaining(param),
      },
    });
    expect(await balanceOf(gateway)).toBe(before);
  });

  it('says of a wrong form what is wrong, for both kinds of client', async () => {
    const answer = await ask({ input: [{ role: 'user' }], temperature: 'warm' });
    expect(answer.status).toBe(422);
    const body = (await answer.json()) as { detail: { loc: (string | number)[] }[]; error: object };
    expect(body.detail.map(({ loc }) => loc)).toEqual([
      ['body', 'input', 0, 'content'],
      ['body', 'temperature'],
    ]);
    expect(body.error).toMatchObject({ code: 'invalid_parameter', param: 'input.0.content' });
    expect((await ask({ model })).status).toBe(422);
  });

  it('as there is no response of that id, is a 404', async () => {
    const answer = await gateway.call(`/v1/responses/resp_${crypto.randomUUID()}`);
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { error: { code: 'response_not_found' } },
    ]);
  });

  it.each([
    'resp_1',
    'x',
    crypto.randomUUID(),
    `resp_${crypto.randomUUID()}0`,
    `chatcmpl-${crypto.randomUUID()}`,
  ])('as %s is no id of a response, is a 422 with detail and the envelope', async (id) => {
    const answer = await gateway.call(`/v1/responses/${id}`);
    const msg = 'must be resp_ followed by a UUID';
    expect([answer.status, await answer.json()]).toEqual([
      422,
      {
        detail: [{ loc: ['path', 'response_id'], msg, type: 'value_error' }],
        error: {
          type: 'invalid_request_error',
          code: 'invalid_parameter',
          message: `response_id: ${msg}`,
          param: 'response_id',
        },
      },
    ]);
  });

  it('does not find the responses of others, nor jobs of other kinds', async () => {
    const { id } = await openai.responses.create({ model, input: 'Hi' });
    const stranger = await openAccount(gateway.services);
    expect((await gateway.call(`/v1/responses/${id}`, { apiKey: stranger.apiKey })).status).toBe(404);
    const chat = await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] });
    const chatId = chat.id.replace('chatcmpl-', 'resp_');
    expect((await gateway.call(`/v1/responses/${chatId}`)).status).toBe(404);
  });
});

describe('an odd request', () => {
  const call = (id: string, text = '{}') => ({
    type: 'function_call',
    call_id: id,
    name: 'get_weather',
    arguments: text,
  });
  const output = (id: string, text: unknown = 'Sun') => ({
    type: 'function_call_output',
    call_id: id,
    output: text,
  });
  const schema = (value: object) => ({ text: { format: { type: 'json_schema', name: 'n', schema: value } } });

  it.each<[string, number, object]>([
    ['of nothing', 422, {}],
    ['of no items', 422, { input: [] }],
    ['of instructions alone', 422, { instructions: 'Be brief.' }],
    ['of an empty text', 200, { input: '' }],
    ['of null items', 422, { input: [null] }],
    ['of null parts', 422, { input: [{ role: 'user', content: [null] }] }],
    ['of null content', 422, { input: [{ role: 'assistant', content: null }] }],
    ['of an empty item', 422, { input: [{}] }],
    ['of no parts', 200, { input: [{ role: 'user', content: [] }] }],
    ['of reasoning alone', 400, { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }],
    ['of the assistant alone', 200, { input: [{ role: 'assistant', content: 'Good day.' }] }],
    ['with a call without an output', 200, { input: [call('c')] }],
    ['with an output without a call', 400, { input: [output('c')] }],
    ['with two outputs of one call', 400, { input: [call('c'), output('c'), output('c')] }],
    ['with two calls of one id', 200, { input: [call('c'), call('c'), output('c'), output('c')] }],
    ['with an output before its call', 200, { input: [output('c'), call('c')] }],
    ['with arguments that are no JSON', 200, { input: [call('c', '{{{'), output('c', [])] }],
    ['with huge arguments', 200, { input: [call('c', `{"a":"${'x'.repeat(3_000_000)}"}`), output('c')] }],
    ['that is huge', 400, { input: 'x'.repeat(5_000_000) }],
    ['of all kinds of characters', 200, { input: 'a\0\ud800\u2028👩‍👩‍👧', metadata: { '\0': '\udc00\0' } }],
    ['with a name of every object', 200, { input: 'x', metadata: JSON.parse('{"__proto__":"y"}') }],
    ['with a schema that no value fits', 422, { input: 'x', ...schema({ $ref: '#' }) }],
    ['with a schema that is none', 422, { input: 'x', ...schema({ type: 'nonsense' }) }],
    ['with two functions of one name', 200, { input: 'x', tools: [weather, weather] }],
    ['with no text format', 200, { input: 'x', text: { format: null, verbosity: null } }],
    ['with a text format of no type', 422, { input: 'x', text: { format: {} } }],
    ['for one token', 200, { input: 'x', max_output_tokens: 1 }],
    ['with a reference that is none', 400, { input: [{ type: 'item_reference', id: '\0' }] }],
  ])('%s is a %i, as JSON and as a stream, and leaves no hold', async (_what, status, body) => {
    for (const stream of [false, true]) {
      const answer = await ask({ ...body, stream });
      const text = await answer.text();
      expect([answer.status, text]).toEqual([status, text]);
    }
    expect(await openHolds()).toBe(0);
  });
});
