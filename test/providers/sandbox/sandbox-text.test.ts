import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createExampleMaker, createSandboxText } from '../../../src/providers/sandbox/sandbox-text.ts';
import type { TextEvent, TextMessage, TextRequest } from '../../../src/providers/text/text-provider.ts';
import { createTokenCounter } from '../../../src/providers/tokens/token-counter.ts';
import { argumentsOf, collect, contentOf, finishOf, noAbort, rejectionOf, usageOf } from '../collect.ts';

const counter = createTokenCounter({ log: silentLog });
const examples = createExampleMaker();
const text = createSandboxText({ counter, examples, pieceDelayMs: 0 });
afterAll(() => Promise.all([counter.close(), examples.close()]));

const asking = (question: string, changes: Partial<TextRequest> = {}): TextRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: question }],
  maxOutputTokens: 1_000,
  options: {},
  isWhole: false,
  ...changes,
});

const ask = (question: string, changes: Partial<TextRequest> = {}): Promise<TextEvent[]> =>
  collect((emit) => text.answer(asking(question, changes), { signal: noAbort(), emit }));

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', minLength: 2 }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
};
const clock = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
};
const isWeather = new Ajv2020().compile(weather.function.parameters);

describe('the sandbox’s text', () => {
  it('says that no language model is behind it, and repeats the question', async () => {
    const answer = contentOf(await ask('What is the capital of France?'));
    expect(answer).toContain('This is a sandbox answer: no language model is behind it.');
    expect(answer).toContain('in 6 words: "What is the capital of France?"');
  });

  it('comes in several pieces and ends with finish and usage', async () => {
    const events = await ask('Hello');
    expect(events.filter(({ type }) => type === 'content').length).toBeGreaterThan(3);
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['finish', 'usage']);
    expect(finishOf(events)).toBe('stop');
  });

  it('is the same for the same request', async () => {
    const options = { tools: [weather], tool_choice: 'required' };
    expect(await ask('Hello', { options })).toEqual(await ask('Hello', { options }));
    expect(await ask('Hello')).toEqual(await ask('Hello'));
  });

  it('counts the prompt and the words it sent', async () => {
    const events = await ask('Say hello');
    expect(usageOf(events)).toMatchObject({ promptTokens: 9 });
    expect(usageOf(events)?.completionTokens).toBeGreaterThan(10);
  });

  it.each([1, 5, 20])('ends at an output limit of %i tokens', async (maxOutputTokens) => {
    const events = await ask('Hello', { maxOutputTokens });
    expect(finishOf(events)).toBe('length');
    expect(usageOf(events)?.completionTokens).toBeLessThanOrEqual(maxOutputTokens);
    expect(usageOf(events)?.completionTokens).toBeGreaterThan(0);
  });

  it('answers a prompt of ten megabytes briefly', async () => {
    const events = await ask('lorem ipsum '.repeat(900_000));
    expect(contentOf(events).length).toBeLessThan(1_000);
    expect(contentOf(events)).toContain('more than');
    expect(usageOf(events)?.promptTokens).toBeGreaterThan(1_000_000);
  });

  it('mentions the tools it could call', async () => {
    const answer = contentOf(
      await ask('Hello', { options: { tools: [weather, clock], tool_choice: 'auto' } }),
    );
    expect(answer).toContain('2 tools could be called (get_weather, get_time)');
  });
});

describe('the sandbox’s function calls', () => {
  it('are made when a tool is required, with arguments that fit the schema', async () => {
    const events = await ask('Hello', { options: { tools: [weather, clock], tool_choice: 'required' } });
    expect(events[0]).toMatchObject({ type: 'tool_call', index: 0, name: 'get_weather' });
    expect(events[0]).toHaveProperty('id', expect.stringMatching(/^call_[0-9a-f]{24}$/));
    expect(isWeather(JSON.parse(argumentsOf(events)))).toBe(true);
    expect(finishOf(events)).toBe('tool_calls');
    expect(contentOf(events)).toBe('');
  });

  it('are made for a named tool', async () => {
    const options = {
      tools: [weather, clock],
      tool_choice: { type: 'function', function: { name: 'get_time' } },
    };
    expect((await ask('Hello', { options }))[0]).toMatchObject({ name: 'get_time' });
  });

  it('are made in the legacy form without an id', async () => {
    const options = { functions: [weather.function], function_call: { name: 'get_weather' } };
    const events = await ask('Hello', { options });
    expect(events[0]).toEqual({ type: 'tool_call', index: 0, name: 'get_weather', arguments: '' });
    expect(isWeather(JSON.parse(argumentsOf(events)))).toBe(true);
    expect(finishOf(events)).toBe('function_call');
  });

  it('have an object of arguments when the tool describes none', async () => {
    const options = { tools: [{ type: 'function', function: { name: 'ping' } }], tool_choice: 'required' };
    expect(argumentsOf(await ask('Hello', { options }))).toBe('{}');
  });

  it('are refused for a tool that was not offered', async () => {
    const options = { tools: [clock], tool_choice: { type: 'function', function: { name: 'other' } } };
    expect(await rejectionOf(ask('Hello', { options }))).toMatchObject({
      failure: 'fatal',
      code: 'invalid_parameter',
    });
  });

  const answered: TextMessage[] = [
    { role: 'user', content: 'Weather in Oslo?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_9', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_9', content: '{"celsius": -3}' },
  ];

  it.each<TextRequest['options']>([
    {},
    { tools: [weather] },
    { tools: [weather], tool_choice: 'auto' },
    { tools: [weather], tool_choice: 'none' },
  ])('are followed by an answer in words that uses the tool’s result: %j', async (options) => {
    const events = await ask('', { options, messages: answered });
    expect(contentOf(events)).toContain('The tool get_weather answered: {"celsius": -3}');
    expect(finishOf(events)).toBe('stop');
  });

  it.each(['required', { type: 'function', function: { name: 'get_weather' } }])(
    'are made after a tool’s result too, with another id, for the choice %j',
    async (choice) => {
      const options = { tools: [weather, clock], tool_choice: choice };
      const first = await ask('', { options, messages: answered.slice(0, 1) });
      const events = await ask('', { options, messages: answered });
      expect(events[0]).toMatchObject({ type: 'tool_call', name: 'get_weather' });
      expect(events[0]).not.toMatchObject({ id: first[0] && 'id' in first[0] ? first[0].id : '' });
      expect(isWeather(JSON.parse(argumentsOf(events)))).toBe(true);
      expect(finishOf(events)).toBe('tool_calls');
    },
  );

  it('are followed by an answer in the form of a schema where one is asked for', async () => {
    const schema = weather.function.parameters;
    const options = {
      tools: [weather],
      response_format: { type: 'json_schema', json_schema: { name: 'w', schema } },
    };
    expect(isWeather(JSON.parse(contentOf(await ask('', { options, messages: answered }))))).toBe(true);
  });
});

describe('the sandbox’s JSON', () => {
  it('is an object when asked for one', async () => {
    const events = await ask('Hello', { options: { response_format: { type: 'json_object' } } });
    expect(JSON.parse(contentOf(events))).toMatchObject({ sandbox: true, question: 'Hello' });
  });

  it('fits the schema when asked for one', async () => {
    const schema = weather.function.parameters;
    const options = { response_format: { type: 'json_schema', json_schema: { name: 'w', schema } } };
    expect(isWeather(JSON.parse(contentOf(await ask('Hello', { options }))))).toBe(true);
  });

  it('is refused for a schema that is out of all proportion', async () => {
    const schema = { type: 'array', items: {}, minItems: 200_000 };
    const options = { response_format: { type: 'json_schema', json_schema: { name: 'w', schema } } };
    expect(await rejectionOf(ask('Hello', { options }))).toMatchObject({
      failure: 'fatal',
      code: 'invalid_parameter',
    });
  });
});

describe('a sandbox trigger', () => {
  it.each([
    ['fail', 'upstream_error'],
    ['moderated', 'content_policy_violation'],
    ['rate_limit', 'rate_limit_exceeded'],
  ])('%s fails before any event, without harm to others', async (word, code) => {
    expect(await rejectionOf(ask(`Hello [sandbox:${word}]`))).toMatchObject({ failure: 'fatal', code });
  });

  it('moderated comes with an explanation', async () => {
    expect(await rejectionOf(ask('[sandbox:moderated]'))).toHaveProperty(
      'explanation',
      expect.stringContaining('refused'),
    );
  });

  it('truncate ends at the output limit', async () => {
    const events = await ask('Hello [sandbox:truncate]');
    expect(finishOf(events)).toBe('length');
    expect(contentOf(events)).not.toBe('');
  });

  it('counts in the last user message only', async () => {
    const messages = [
      { role: 'user' as const, content: '[sandbox:fail]' },
      { role: 'user' as const, content: 'Hello' },
    ];
    expect(finishOf(await ask('', { messages }))).toBe('stop');
  });

  it('stall starts a stream and stops until the caller aborts', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const types: string[] = [];
    const begun = Promise.withResolvers<void>();
    const emit = ({ type }: TextEvent): void => {
      types.push(type);
      if (types.length === 2) begun.resolve();
    };
    const answering = text.answer(asking('[sandbox:stall]'), { signal: controller.signal, emit });
    await Promise.race([begun.promise, answering]);
    controller.abort(reason);
    expect(await rejectionOf(answering)).toBe(reason);
    expect(types).toEqual(['content', 'content']);
  });

  it('slow waits first, and ends its wait when the caller aborts', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiting = rejectionOf(
      collect((emit) => text.answer(asking('[sandbox:slow=500]'), { signal: controller.signal, emit })),
    );
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    expect(finishOf(await ask('[sandbox:slow=0.05]'))).toBe('stop');
  });
});
