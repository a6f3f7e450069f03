import OpenAI from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
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

describe('the openai package', () => {
  it('creates a response from a text and reads it again', async () => {
    const response = await openai.responses.create({ model, input: 'What is a causeway?' });
    expect(response.id).toMatch(/^resp_[0-9a-f-]{36}$/);
    expect(response.status).toBe('completed');
    expect(response.output_text).toContain('What is a causeway?');
    expect(await openai.responses.retrieve(response.id)).toEqual(response);
  });

  it('sends a conversation of items, with instructions', async () => {
    const response = await openai.responses.create({
      model,
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Speak plainly.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
        { role: 'assistant', content: 'Good day.' },
        { type: 'message', role: 'user', content: 'And now?' },
      ],
    });
    expect(response.output_text).toContain('And now?');
    expect(response.output_text).toContain('5 messages');
    expect(response.instructions).toBe('Be brief.');
  });

  it('goes round a tool loop, replaying output as it came', async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather in Oslo?' }];
    const first = await openai.responses.create({ model, input, tools: [weather], tool_choice: 'required' });
    const call = callOf(first);
    expect(JSON.parse(call.arguments)).toHaveProperty('city');
    const answered = {
      model,
      input: [
        ...input,
        ...toResponseInputItems(first.output),
        { type: 'function_call_output' as const, call_id: call.call_id, output: 'Sunny, 21 degrees' },
      ],
      tools: [weather],
    };
    const second = await openai.responses.create(answered);
    expect(second.output_text).toContain('get_weather answered: Sunny, 21 degrees');
    for (const choice of ['required', { type: 'function', name: 'get_weather' }] as const) {
      const third = callOf(await openai.responses.create({ ...answered, tool_choice: choice }));
      expect(third.name).toBe('get_weather');
      expect(third.call_id).not.toBe(call.call_id);
    }
  });

  it('parses structured output', async () => {
    const shape = z.object({ name: z.string(), parts: z.array(z.object({ size: z.number() })) });
    const response = await openai.responses.parse({
      model,
      input: 'Describe a bridge',
      text: { format: zodTextFormat(shape, 'bridge') },
    });
    expect(shape.parse(response.output_parsed)).toEqual(response.output_parsed);
    expect(response.text?.format).toMatchObject({ type: 'json_schema', name: 'bridge', strict: true });
  });

  it('streams by create, and tells the id in a header', async () => {
    const { data: stream, response: answer } = await openai.responses
      .create({ model, input: 'Stream please', stream: true })
      .withResponse();
    const events = await Array.fromAsync(stream);
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
    const last = events.at(-1);
    if (last?.type !== 'response.completed') throw new Error('it did not complete');
    const deltas = events.filter((event) => event.type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(last.response.output_text);
    expect(answer.headers.get('x-response-id')).toBe(last.response.id);
  });

  it('goes round a streamed tool loop with a function whose arguments it parses', async () => {
    const tool = zodResponsesFunction({ name: 'get_weather', parameters: z.object({ city: z.string() }) });
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather in Oslo?' }];
    const stream = openai.responses.stream({ model, input, tools: [tool], tool_choice: 'required' });
    const first = await stream.finalResponse();
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('no function call came');
    expect(call.parsed_arguments).toEqual({ city: expect.any(String) });
    const second = await openai.responses
      .stream({
        model,
        input: [
          ...input,
          { type: 'item_reference', id: call.id ?? '' },
          { type: 'function_call_output', call_id: call.call_id, output: 'Sunny' },
        ],
        tools: [tool],
      })
      .finalResponse();
    expect(second.output_text).toContain('get_weather answered: Sunny');
  });

  it('gets a JSON object where that is asked for', async () => {
    const response = await openai.responses.create({
      model,
      input: 'As JSON please',
      text: { format: { type: 'json_object' } },
    });
    expect(JSON.parse(response.output_text)).toBeTypeOf('object');
    expect(response.text?.format).toEqual({ type: 'json_object' });
  });

  it('streams text into the same response as it reads later', async () => {
    const stream = openai.responses.stream({ model, input: 'Stream please' });
    const deltas: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const final = await stream.finalResponse();
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join('')).toBe(final.output_text);
    expect(await openai.responses.retrieve(final.id)).toMatchObject({
      status: 'completed',
      output_text: final.output_text,
      usage: final.usage,
    });
  });

  it('streams a function call, and parses its arguments', async () => {
    const stream = openai.responses.stream({
      model,
      input: 'Weather?',
      tools: [weather],
      tool_choice: { type: 'function', name: 'get_weather' },
    });
    const pieces: string[] = [];
    stream.on('response.function_call_arguments.delta', ({ delta }) => pieces.push(delta));
    const final = await stream.finalResponse();
    const call = callOf(final);
    expect(pieces.join('')).toBe(call.arguments);
    expect(call).toMatchObject({ parsed_arguments: { city: expect.any(String) }, status: 'completed' });
  });

  it('streams structured output into a parsed result', async () => {
    const shape = z.object({ title: z.string() });
    const stream = openai.responses.stream({
      model,
      input: 'A title',
      text: { format: zodTextFormat(shape, 'titled') },
    });
    const { output_parsed: parsed } = await stream.finalResponse();
    expect(shape.parse(parsed)).toEqual(parsed);
  });

  it('sees refusals as its own classes', async () => {
    await expect(openai.responses.create({ model: 'gpt-unknown', input: 'x' })).rejects.toMatchObject({
      status: 400,
      code: 'model_not_found',
      param: 'model',
    });
    await expect(
      openai.responses.create({ model, input: 'x', previous_response_id: 'resp_1' }),
    ).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(openai.responses.retrieve('resp_1')).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
    await expect(openai.responses.retrieve(`resp_${crypto.randomUUID()}`)).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
  });
});

describe('a response', () => {
  it('has every field that the type of the openai package requires, and OpenAI sends', async () => {
    const response = (await (
      await ask({ input: 'Hi', max_output_tokens: 300, metadata: { order: '7' } })
    ).json()) as OpenAI.Responses.Response;
    expect(response).toEqual({
      id: expect.stringMatching(/^resp_/),
      object: 'response',
      created_at: expect.any(Number),
      completed_at: expect.any(Number),
      status: 'completed',
      model,
      output: [
        {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: expect.any(String), annotations: [], logprobs: [] }],
        },
      ],
      output_text: expect.stringContaining('Hi'),
      usage: {
        input_tokens: expect.any(Number),
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: expect.any(Number),
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: expect.any(Number),
      },
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: { order: '7' },
      max_output_tokens: 300,
      max_tool_calls: null,
      parallel_tool_calls: true,
      temperature: null,
      top_p: null,
      top_logprobs: 0,
      tool_choice: 'auto',
      tools: [],
      text: { format: { type: 'text' }, verbosity: 'medium' },
      reasoning: { effort: null, summary: null },
      truncation: 'disabled',
      previous_response_id: null,
      conversation: null,
      store: false,
      background: false,
      service_tier: 'default',
      access_programs: null,
      prompt_cache_key: null,
      safety_identifier: null,
      user: null,
    });
    expect(response.usage?.total_tokens).toBe(
      (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
    );
  });

  it('is charged what its usage costs at the rates of the SKU', async () => {
    const before = await balanceOf(gateway);
    const answer = await ask({ input: 'Hello there' });
    expect(answer.headers.get('x-causeway-sandbox')).toBe('true');
    const { usage } = (await answer.json()) as OpenAI.Responses.Response;
    const exact = BigInt(usage?.input_tokens ?? 0) * 1050n + BigInt(usage?.output_tokens ?? 0) * 6300n;
    expect(before - (await balanceOf(gateway))).toBe(exact);
  });

  it('names itself in a header, and can be read as a job', async () => {
    const answer = await ask({ input: 'Hi' });
    const response = (await answer.json()) as { id: string };
    expect(answer.headers.get('x-response-id')).toBe(response.id);
    const job = await (await gateway.call(`/v1/jobs/${response.id}`)).json();
    expect(job).toMatchObject({ status: 'done', data: [], error: null, response });
    const read = await gateway.call(`/v1/responses/${response.id.toUpperCase().replace('RESP', 'resp')}`);
    expect(read.headers.get('x-response-id')).toBe(response.id);
    expect(await read.json()).toEqual(response);
  });

  it('is incomplete when it ends at the output limit, and charged', async () => {
    const before = await balanceOf(gateway);
    const answer = (await (await ask({ input: '[sandbox:truncate] Tell all' })).json()) as object;
    const incomplete = {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      error: null,
    };
    expect(answer).toMatchObject({ ...incomplete, completed_at: null, output: [{ status: 'incomplete' }] });
    expect(await balanceOf(gateway)).toBeLessThan(before);
    const events = await readEvents(await ask({ input: 'Tell all', max_output_tokens: 5, stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: incomplete });
    expect(events.at(-2)).toMatchObject({
      type: 'response.output_item.done',
      item: { status: 'incomplete' },
    });
  });

  it('uses the default model when none is named', async () => {
    expect(await (await ask({ model: null, input: 'Hi' })).json()).toMatchObject({ model });
  });
});

describe('a stream', () => {
  it('has the events of a text in the order of the interface, named and numbered, without [DONE]', async () => {
    const answer = await ask({ input: 'Hi', stream: true });
    const id = answer.headers.get('x-response-id');
    const events = await readEvents(answer);
    const types = events.map(({ type }) => type);
    expect([...new Set(types)]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events[0]).toMatchObject({ response: { id, status: 'in_progress', output: [], usage: null } });
    const delta = events.find(({ type }) => type === 'response.output_text.delta');
    expect(delta).toEqual({
      type: 'response.output_text.delta',
      sequence_number: 4,
      output_index: 0,
      content_index: 0,
      item_id: id?.replace('resp_', 'msg_').concat('_0'),
      delta: expect.any(String),
      logprobs: [],
    });
    expect(events.at(-1)).toMatchObject({
      response: await (await gateway.call(`/v1/responses/${id}`)).json(),
    });
  });

  it('has the events of a function call', async () => {
    const events = await readEvents(
      await ask({ input: 'Weather?', tools: [weather], tool_choice: 'required', stream: true }),
    );
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });
});

describe('the same over MCP', () => {
  it('creates and reads a response, and shares its idempotency key with REST', async () => {
    const made = await overMcp(gateway, 'create_response', {
      model,
      input: 'Hi there',
      idempotency_key: 'mcp',
    });
    expect(made).toMatchObject({ status: 'completed', output_text: expect.stringContaining('Hi there') });
    expect(await overMcp(gateway, 'get_response', { response_id: made['id'] })).toEqual(made);
    const again = await ask({ input: 'Hi there' }, { headers: { 'idempotency-key': 'mcp' } });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.json()).toEqual(made);
  });

  it('refuses what REST refuses', async () => {
    expect(
      await overMcp(gateway, 'create_response', { input: 'Hi', previous_response_id: 'resp_1' }),
    ).toMatchObject({
      error: { code: 'unknown_parameter', param: 'previous_response_id' },
    });
    expect(await overMcp(gateway, 'get_response', { response_id: 'resp_1' })).toMatchObject({
      error: { code: 'invalid_parameter', param: 'response_id' },
    });
    expect(await overMcp(gateway, 'create_response', { input: 'Hi', idempotency_key: '\0' })).toMatchObject({
      error: { code: 'invalid_parameter', param: 'idempotency_key' },
    });
  });
});
