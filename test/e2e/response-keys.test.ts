import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import {
  callOf,
  responseAsker,
  startResponses,
  balanceOf,
  model,
  overMcp,
  readEvents,
  weather,
} from './response-calls.ts';
import { type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  ({ gateway, openai } = await startResponses());
});

afterAll(() => gateway.stop());

const ask = responseAsker(() => gateway);

describe('an idempotency key', () => {
  it('gets the finished response again, as JSON or as a stream, charged once', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await ask({ input: 'Once only' }, { headers });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const response = (await first.json()) as object;
    const before = await balanceOf(gateway);
    const again = await ask({ input: 'Once only', metadata: null, user: null }, { headers });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-response-id')).toBe(first.headers.get('x-response-id'));
    expect(await again.json()).toEqual(response);
    const streamed = await ask({ input: 'Once only', stream: true }, { headers });
    expect(streamed.headers.get('idempotent-replayed')).toBe('true');
    expect((await readEvents(streamed)).at(-1)).toMatchObject({ type: 'response.completed', response });
    expect(await balanceOf(gateway)).toBe(before);
  });

  it('follows a response that is being made from its beginning, in either form', async () => {
    const headers = { 'idempotency-key': 'live' };
    const body = { input: '[sandbox:slow=0.2] all together' };
    const [first, second, whole] = await Promise.all([
      ask({ ...body, stream: true }, { headers }).then(readEvents),
      ask({ ...body, stream: true }, { headers }).then(readEvents),
      ask(body, { headers }).then((answer) => answer.json()),
    ]);
    expect(second).toEqual(first);
    expect(first.at(-1)).toMatchObject({ type: 'response.completed', response: whole });
  });

  it('repeats a refusal too, says so, and tells clients not to try again', async () => {
    const headers = { 'idempotency-key': 'refused' };
    const first = await ask({ input: '[sandbox:moderated]' }, { headers });
    for (const stream of [false, true]) {
      const again = await ask({ input: '[sandbox:moderated]', stream }, { headers });
      expect([first.status, again.status]).toEqual([400, 400]);
      expect(again.headers.get('x-response-id')).toBe(first.headers.get('x-response-id'));
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.headers.get('x-should-retry')).toBe('false');
    }
  });

  it('is free again after a 5xx, over REST and over MCP', async () => {
    const headers = { 'idempotency-key': 'failing' };
    const first = await ask({ input: '[sandbox:fail]' }, { headers });
    expect([first.status, first.headers.has('x-should-retry')]).toEqual([502, false]);
    const failed = { idempotency_key: 'failing', input: '[sandbox:fail]' };
    expect(await overMcp(gateway, 'create_response', failed)).toMatchObject({
      error: { code: 'upstream_error' },
    });
    const other = await ask({ input: 'Something else' }, { headers });
    expect([other.status, other.headers.has('idempotent-replayed')]).toEqual([200, false]);
    expect(await overMcp(gateway, 'create_response', failed)).toMatchObject({
      error: { code: 'idempotency_conflict' },
    });
    const id = first.headers.get('x-response-id');
    expect(await (await gateway.call(`/v1/responses/${id}`)).json()).toMatchObject({ status: 'failed' });
  });

  it('is refused with another request', async () => {
    const headers = { 'idempotency-key': 'conflict' };
    await ask({ input: 'one' }, { headers });
    // Also before a reference is looked up: what it names may be gone by the time a request is repeated.
    for (const input of ['two', [{ type: 'item_reference', id: 'msg_gone' }]]) {
      const other = await ask({ input }, { headers });
      expect(other.status).toBe(409);
      expect(other.headers.get('x-should-retry')).toBe('false');
      expect(await other.json()).toMatchObject({ error: { code: 'idempotency_conflict' } });
    }
  });
});

describe('a reference to an item of earlier output', () => {
  it('stands for the item', async () => {
    const spoken = await openai.responses.create({ model, input: 'Say something' });
    const asked = await openai.responses.create({
      model,
      input: 'Weather?',
      tools: [weather],
      tool_choice: 'required',
    });
    const call = callOf(asked);
    const response = await openai.responses.create({
      model,
      input: [
        { role: 'user', content: 'Say something' },
        { type: 'item_reference', id: spoken.output[0]?.id ?? '' },
        { role: 'user', content: 'Weather?' },
        { id: call.id ?? '' },
        { type: 'function_call_output', call_id: call.call_id, output: 'Rain' },
      ],
    });
    expect(response.output_text).toContain('get_weather answered: Rain');
    expect(response.output_text).toContain('5 messages');
  });

  it('is refused when the account has no such item', async () => {
    const { output, id } = await openai.responses.create({ model, input: 'Hi' });
    const known = output[0]?.id ?? '';
    const stranger = await openAccount(gateway.services);
    const chat = await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] });
    const unknown = [
      chat.id.replace('chatcmpl-', 'msg_').concat('_0'),
      known.replace(/_0$/, '_1'),
      known.replace('msg_', 'fc_'),
      'msg_1',
      id,
      `msg_${crypto.randomUUID()}_0`,
    ];
    const refused = { error: { code: 'invalid_value', param: 'input.1.id' } };
    const inputFor = (reference: string) => ({
      input: [
        { role: 'user', content: 'x' },
        { type: 'item_reference', id: reference },
      ],
    });
    for (const reference of unknown) {
      const answer = await ask(inputFor(reference));
      expect([answer.status, await answer.json()]).toMatchObject([400, refused]);
    }
    const other = await ask(inputFor(known), { apiKey: stranger.apiKey });
    expect([other.status, await other.json()]).toMatchObject([400, refused]);
  });
});
