import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectAssistant, read, tool, type Body } from './account-calls.ts';
import { startUpstreamGateway, type UpstreamGateway } from './start-upstream-gateway.ts';

describe.each([
  { most: 100, chat: 100, response: 100, shown: { max_output_tokens: 100 } },
  { most: 30_000, chat: 16_384, response: 30_000, shown: { max_output_tokens: 30_000 } },
  { most: null, chat: 16_384, response: 65_536, shown: {} },
])('the output of a SKU whose upstream makes at most $most tokens', ({ most, shown, ...unasked }) => {
  const nanoPerToken = 6_300n;
  const input = 'Hello';
  const messages = [{ role: 'user', content: input }];
  let sold: UpstreamGateway;
  let assistant: Client;
  beforeAll(async () => {
    sold = await startUpstreamGateway({}, most === null ? '' : `max_output_tokens: ${most}`);
    assistant = await connectAssistant(sold.gateway, sold.apiKey);
  });
  afterAll(async () => {
    await assistant.close();
    await sold.stop();
  });

  const holdOf = async (publicId: unknown): Promise<bigint> => {
    const id = String(publicId).replace(/^(?:chatcmpl-|resp_)/, '');
    return (await sold.gateway.services.store.getJob({ id, accountId: sold.accountId }))?.hold ?? -1n;
  };
  const chat = (limits: object) => sold.ask({ messages, ...limits }).then((answer) => answer.json());
  const respond = async ({ max_tokens: limit }: { max_tokens?: number }) => {
    const body = { input, ...(limit === undefined ? {} : { max_output_tokens: limit }) };
    return (await sold.gateway.call('/v1/responses', { body, apiKey: sold.apiKey })).json();
  };
  const calls: [string, number, (limits: { max_tokens?: number }) => Promise<unknown>][] = [
    ['a chat', unasked.chat, chat],
    ['a response', unasked.response, respond],
    [
      'a chat over MCP',
      unasked.chat,
      (limits) => tool(assistant, 'create_chat_completion', { messages, ...limits }),
    ],
  ];

  it.each(calls)(
    'is held and asked for up to the limit of %s, or %i without one',
    async (_call, usual, make) => {
      const one = (await make({ max_tokens: 1 })) as Body;
      sold.takeAsked();
      for (const [limits, held] of [
        [{}, usual],
        [{ max_tokens: 65_536 }, most ?? 65_536],
        [{ max_tokens: 99 }, 99],
      ] as const) {
        const made = (await make(limits)) as Body;
        expect(sold.takeAsked()).toMatchObject([{ max_tokens: held }]);
        expect((await holdOf(made['id'])) - (await holdOf(one['id']))).toBe(nanoPerToken * BigInt(held - 1));
        if (made['object'] === 'response') expect(made['max_output_tokens']).toBe(held);
      }
    },
  );

  it('is told with the model, where the operator has set it', async () => {
    const {
      created: _created,
      pricing: _pricing,
      ...model
    } = await read(sold.gateway, '/v1/models/textmodel-3.5-flash', sold.apiKey);
    expect(model).toEqual({
      id: 'textmodel-3.5-flash',
      object: 'model',
      owned_by: 'causeway',
      kind: 'chat',
      ...shown,
    });
    expect(await tool(assistant, 'list_models')).toMatchObject({ data: [model] });
  });
});
