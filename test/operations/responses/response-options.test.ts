import { describe, expect, it } from 'vitest';
import { responseInput } from '../../../src/operations/responses/response-input.ts';
import { toChatOptions, toShownRequest } from '../../../src/operations/responses/response-object.ts';

const read = (more: object) => responseInput.parse({ input: 'Hi', ...more });
const optionsOf = (more: object) => toChatOptions(read(more));

const parameters = { type: 'object', properties: { city: { type: 'string' } } };

describe('the options of a Responses request', () => {
  it('become those of chat', () => {
    expect(
      optionsOf({
        temperature: 0.5,
        top_p: 0.9,
        text: { verbosity: 'low' },
        parallel_tool_calls: false,
        tool_choice: { type: 'function', name: 'get_weather' },
        tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters, strict: true }],
      }),
    ).toEqual({
      temperature: 0.5,
      top_p: 0.9,
      verbosity: 'low',
      parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      tools: [
        { type: 'function', function: { name: 'get_weather', description: 'd', parameters, strict: true } },
      ],
    });
  });

  it('leave out what is null, and what upstreams refuse without tools', () => {
    expect(
      optionsOf({ temperature: null, tools: [], tool_choice: 'auto', parallel_tool_calls: true, text: null }),
    ).toEqual({});
    const bare = { type: 'function', name: 'now', parameters: null, strict: null, description: null };
    expect(optionsOf({ tools: [bare] })).toEqual({
      tools: [{ type: 'function', function: { name: 'now' } }],
    });
  });

  it.each([
    [{ type: 'text' }, undefined],
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { type: 'json_schema', name: 'n', schema: parameters, strict: true, description: null },
      { type: 'json_schema', json_schema: { name: 'n', schema: parameters, strict: true } },
    ],
  ])('give the text format %j its name in chat', (format, expected) => {
    expect(optionsOf({ text: { format } })['response_format']).toEqual(expected);
  });

  it('never hold what is accepted and ignored', () => {
    const ignored = {
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      service_tier: 'flex',
      stream_options: { include_obfuscation: true },
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'high' },
      truncation: 'auto',
      metadata: { a: 'b' },
      store: false,
      whatever: 1,
    };
    expect(optionsOf(ignored)).toEqual({});
  });

  it('are shown again with the defaults that hold, and the output limit that holds', () => {
    expect(toShownRequest(read({}), 1234)).toEqual({
      instructions: null,
      max_output_tokens: 1234,
      metadata: {},
      parallel_tool_calls: true,
      temperature: null,
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tool_choice: 'auto',
      tools: [],
      top_p: null,
    });
    const shown = toShownRequest(
      read({
        instructions: 'i',
        metadata: { a: 'b' },
        tools: [{ type: 'function', name: 'now' }],
        tool_choice: 'none',
        text: { format: { type: 'json_schema', name: 'n', schema: {} }, verbosity: 'high' },
      }),
      5,
    );
    expect(shown).toMatchObject({
      instructions: 'i',
      metadata: { a: 'b' },
      tool_choice: 'none',
      tools: [{ type: 'function', name: 'now', description: null, parameters: null, strict: null }],
      text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: null }, verbosity: 'high' },
    });
  });
});
