import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { createResponse } from '../../../src/operations/responses/create-response.ts';
import { checkResponseRequest } from '../../../src/operations/responses/response-input.ts';
import { toMessages } from '../../../src/operations/responses/response-messages.ts';
import { toChatOptions, toShownRequest } from '../../../src/operations/responses/response-object.ts';
import { validate } from '../../../src/operations/validate.ts';

/** Null when the request passes. */
const refusalOf = (request: unknown, responsesMaxBytes = 100_000): AppError | null => {
  try {
    checkResponseRequest(validate(createResponse, request), { responsesMaxBytes });
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
};

const fine = { input: 'Hi' };
const now = { type: 'function', name: 'now' };
const message = (part: object, role = 'user') => ({ input: [{ role, content: [part] }] });

describe('a Responses request', () => {
  it.each<[string, object]>([
    ['a text', fine],
    [
      'null for whatever is optional',
      {
        ...fine,
        model: null,
        instructions: null,
        max_output_tokens: null,
        tools: null,
        tool_choice: null,
        parallel_tool_calls: null,
        text: null,
        temperature: null,
        top_p: null,
        metadata: null,
        stream: null,
        store: null,
        previous_response_id: null,
        conversation: null,
        background: null,
        prompt: null,
        top_logprobs: null,
        max_tool_calls: null,
        user: null,
        reasoning: null,
        truncation: null,
      },
    ],
    [
      'ignored members of any form',
      {
        ...fine,
        user: 5,
        safety_identifier: [],
        prompt_cache_key: {},
        service_tier: 'x',
        stream_options: 1,
        include: 'x',
        reasoning: 'high',
        truncation: true,
        store: false,
      },
    ],
    ['unknown members', { ...fine, moderation: { model: 'x' }, whatever: [1] }],
    ['settings at their bounds', { ...fine, temperature: 2, top_p: 1, max_output_tokens: 65_536 }],
    ['other settings at their bounds', { ...fine, temperature: 0, top_p: 0, max_output_tokens: 1 }],
    ['functions without parameters', { ...fine, tools: [{ ...now, parameters: null, strict: null }] }],
    ['a choice of a function', { ...fine, tools: [now], tool_choice: { type: 'function', name: 'now' } }],
    [
      'every kind of item',
      {
        input: [
          { role: 'user', content: 'a' },
          { type: null, role: 'developer', content: [{ type: 'input_text', text: 'b' }] },
          {
            type: 'message',
            role: 'assistant',
            content: [{ type: 'refusal', refusal: 'c' }],
            id: 'x',
            status: 'completed',
          },
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'zzz' },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', id: 'fc', status: 'completed' },
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'd' }] },
          { type: 'item_reference', id: 'msg_1' },
          { id: 'msg_2' },
        ],
      },
    ],
  ])('passes with %s', (_what, request) => {
    expect(refusalOf(request)).toBeNull();
  });

  it.each([
    ['previous_response_id', 'resp_1'],
    ['conversation', { id: 'conv_1' }],
    ['store', true],
    ['background', true],
    ['background', false],
    ['prompt', { id: 'pmpt_1' }],
    ['top_logprobs', 0],
    ['max_tool_calls', 3],
  ])('is refused for %s as an unknown parameter: %j', (name, value) => {
    expect(refusalOf({ ...fine, [name]: value })).toMatchObject({
      status: 400,
      code: 'unknown_parameter',
      param: name,
    });
  });

  it.each<[string, object]>([
    ['tools.0.type', { ...fine, tools: [{ type: 'web_search' }] }],
    ['tools.1.type', { ...fine, tools: [now, { type: 'custom', name: 'sql', format: { type: 'grammar' } }] }],
    ['tools.0.type', { ...fine, tools: [{ type: 'mcp', server_label: 'x' }] }],
    ['tool_choice', { ...fine, tool_choice: 'maybe' }],
    ['tool_choice', { ...fine, tool_choice: 'required' }],
    ['tool_choice.type', { ...fine, tools: [now], tool_choice: { type: 'allowed_tools', mode: 'auto' } }],
    ['tool_choice.name', { ...fine, tools: [now], tool_choice: { type: 'function', name: 'then' } }],
    ['text.format.type', { ...fine, text: { format: { type: 'grammar' } } }],
    ['text.verbosity', { ...fine, text: { verbosity: 'loud' } }],
    ['max_output_tokens', { ...fine, max_output_tokens: 0 }],
    ['max_output_tokens', { ...fine, max_output_tokens: 65_537 }],
    ['temperature', { ...fine, temperature: 2.01 }],
    ['temperature', { ...fine, temperature: -0.1 }],
    ['top_p', { ...fine, top_p: 1.01 }],
    ['top_p', { ...fine, top_p: -1 }],
    [
      'metadata',
      { ...fine, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, ''])) },
    ],
    ['metadata', { ...fine, metadata: { ['k'.repeat(65)]: '' } }],
    ['metadata', { ...fine, metadata: { k: 'v'.repeat(513) } }],
    ['input.0.type', { input: [{ type: 'web_search_call', id: 'x' }] }],
    ['input.1.type', { input: [{ role: 'user', content: 'a' }, { type: 'custom_tool_call_output' }] }],
    ['input.0.type', { input: [{ type: 'toString' }] }],
    ['input.0.role', { input: [{ role: 'tool', content: 'a' }] }],
    ['input.0.content.0.type', message({ type: 'input_image', image_url: 'https://example.com/a.png' })],
    ['input.0.content.0.type', message({ type: 'input_file', file_id: 'x' })],
    ['input.0.content.0.type', message({ type: 'input_audio', input_audio: {} })],
    ['input.0.content.0.type', message({ type: 'refusal', refusal: 'x' })],
    [
      'input.0.output.0.type',
      { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image' }] }] },
    ],
  ])('is refused for the value of %s in %j', (param, request) => {
    expect(refusalOf(request)).toMatchObject({ status: 400, code: 'invalid_value', param });
  });

  it.each<[string, unknown]>([
    ['input', {}],
    ['input', { input: 5 }],
    ['input', { input: [] }],
    ['input.0', { input: ['Hi'] }],
    ['input.0.role', { input: [{ content: 'a' }] }],
    ['input.0.content', { input: [{ role: 'user' }] }],
    ['input.0.content.0.type', { input: [{ role: 'user', content: [{ text: 'a' }] }] }],
    ['input.0.content.0.text', message({ type: 'input_text' })],
    ['input.0.call_id', { input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }],
    ['input.0.output', { input: [{ type: 'function_call_output', call_id: 'c' }] }],
    ['input.0.id', { input: [{ type: 'item_reference' }] }],
    ['model', { ...fine, model: 5 }],
    ['instructions', { ...fine, instructions: ['x'] }],
    ['tools', { ...fine, tools: now }],
    ['tools.0.name', { ...fine, tools: [{ type: 'function', function: { name: 'now' } }] }],
    ['tools.0.parameters', { ...fine, tools: [{ ...now, parameters: 'x' }] }],
    ['tool_choice', { ...fine, tool_choice: 1 }],
    ['text.format.name', { ...fine, text: { format: { type: 'json_schema', schema: {} } } }],
    ['text.format.schema', { ...fine, text: { format: { type: 'json_schema', name: 'n' } } }],
    ['temperature', { ...fine, temperature: 'warm' }],
    ['max_output_tokens', { ...fine, max_output_tokens: 1.5 }],
    ['metadata.a', { ...fine, metadata: { a: 1 } }],
    ['stream', { ...fine, stream: 'yes' }],
  ])('of a wrong form is a 422 that names %s: %j', (param, request) => {
    const refusal = refusalOf(request);
    expect(refusal).toMatchObject({ status: 422, code: 'invalid_parameter', param });
    expect(refusal?.issues?.[0]?.loc.join('.')).toBe(`body.${param}`);
  });

  it('says in plain words what is wrong with a member of an item', () => {
    expect(refusalOf({ input: [{ type: 'function_call', call_id: 5, name: 'f' }] })?.message).toBe(
      'input.0.call_id: must be a string; input.0.arguments: is required',
    );
  });

  it('that passes can be translated, whatever is in it, and any other is refused', () => {
    const name = fc.constantFrom(
      'message',
      'user',
      'input_text',
      'refusal',
      'function',
      'toString',
      '__proto__',
    );
    const value = fc.oneof(name, fc.jsonValue({ maxDepth: 1 }));
    const part = fc.record({ type: name, text: value, refusal: value }, { requiredKeys: [] });
    const item = fc.oneof(
      fc.record({ role: name, content: fc.oneof(value, fc.array(part)) }, { requiredKeys: [] }),
      fc.record({ type: value, id: value, call_id: value, output: value }, { requiredKeys: [] }),
      fc.record({ type: fc.constant('function_call'), call_id: name, name, arguments: name }),
      fc.record({ type: fc.constant('function_call_output'), call_id: name, output: fc.array(part) }),
    );
    const tool = fc.record(
      { type: fc.constant('function'), name, parameters: value },
      { requiredKeys: ['type'] },
    );
    const request = fc.record(
      {
        input: fc.oneof(value, fc.array(item)),
        tools: fc.array(tool),
        tool_choice: fc.oneof(value, tool),
        text: fc.record({ format: fc.record({ type: value, name: value, schema: value }) }),
        metadata: value,
        instructions: value,
      },
      { requiredKeys: ['input'] },
    );
    fc.assert(
      fc.property(request, (raw) => {
        if (refusalOf(raw) !== null) return;
        const passed = validate(createResponse, raw);
        toChatOptions(passed);
        toShownRequest(passed, 1);
        if (typeof passed.input === 'string') return;
        try {
          toMessages(
            passed.input.map((one) => ({ item: one, param: '' })),
            null,
          );
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_value' });
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is refused above the largest size', () => {
    expect(refusalOf({ input: 'x'.repeat(900) }, 1_000)).toBeNull();
    expect(refusalOf({ input: 'é'.repeat(500) }, 1_000)).toMatchObject({
      status: 400,
      code: 'input_too_large',
      param: 'input',
    });
  });
});
