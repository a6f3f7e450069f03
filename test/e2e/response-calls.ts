import OpenAI from 'openai';
import { expect } from 'vitest';
import { parseUsd } from '../../src/kit/money.ts';
import { connectAssistant } from './account-calls.ts';
import { startTestGateway, type CallOptions, type TestGateway } from './start-test-gateway.ts';

export const model = 'textmodel-3.5-flash';

export const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};

/** A gateway, and a client of the openai package that tries nothing again. */
export const startResponses = async () => {
  const gateway = await startTestGateway();
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey, maxRetries: 0 });
  return { gateway, openai };
};

/** Makes a response by the usual model of a gateway. */
export const responseAsker =
  (gateway: () => TestGateway) =>
  (body: object, more: CallOptions = {}): Promise<Response> =>
    gateway().call('/v1/responses', { body: { model, ...body }, ...more });

export const callOf = (response: OpenAI.Responses.Response): OpenAI.Responses.ResponseFunctionToolCall => {
  const call = response.output.find((item) => item.type === 'function_call');
  if (call === undefined) throw new Error('no function call came');
  return call;
};

type Event = OpenAI.Responses.ResponseStreamEvent;

/** The events of a stream, each checked for its name and number. */
export const readEvents = async (response: Response): Promise<Event[]> => {
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const blocks = (await response.text()).split('\n\n').filter((block) => block.startsWith('event: '));
  return blocks.map((block, index) => {
    const [name = '', data = ''] = block.split('\n');
    const event = JSON.parse(data.replace(/^data: /, '')) as Event;
    expect(name).toBe(`event: ${event.type}`);
    expect(event.sequence_number).toBe(index);
    return event;
  });
};

/** Of the first account. */
export const balanceOf = async (gateway: TestGateway): Promise<bigint> => {
  const body = (await (await gateway.call('/v1/balance')).json()) as { balance_usd: string };
  return parseUsd(body.balance_usd);
};

/** The structured content of a tool's result, for the first account. */
export const overMcp = async (
  gateway: TestGateway,
  name: string,
  input: Record<string, unknown>,
): Promise<Record<string, unknown>> => {
  const client = await connectAssistant(gateway, gateway.apiKey);
  try {
    // The client checks the result against the tool's output schema, which it learns from the list.
    await client.listTools();
    const result = await client.callTool({ name, arguments: input });
    return result.structuredContent as Record<string, unknown>;
  } finally {
    await client.close();
  }
};
