import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResponseItem } from '../../../src/operations/responses/response-input.ts';
import { toMessages } from '../../../src/operations/responses/response-messages.ts';

const translate = (items: ResponseItem[], instructions: string | null = null) =>
  toMessages(
    items.map((item, index) => ({ item, param: `input.${index}` })),
    instructions,
  );

const user = (content: unknown): ResponseItem => ({ role: 'user', content });
const call = (id: string): ResponseItem => ({
  type: 'function_call',
  call_id: id,
  name: `tool_${id}`,
  arguments: '{}',
});
const output = (id: string, value: unknown): ResponseItem => ({
  type: 'function_call_output',
  call_id: id,
  output: value,
});
const toolCall = (id: string) => ({
  id,
  type: 'function',
  function: { name: `tool_${id}`, arguments: '{}' },
});

describe('a Responses conversation in chat form', () => {
  it('begins with the instructions', () => {
    expect(translate([user('Hi')], 'Be brief.')).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ]);
  });

  it('keeps roles, a single text as text, and several parts of a user apart', () => {
    expect(
      translate([
        { role: 'system', content: 'a' },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'b' }] },
        user([
          { type: 'input_text', text: 'c' },
          { type: 'input_text', text: 'd' },
        ]),
      ]),
    ).toEqual([
      { role: 'system', content: 'a' },
      { role: 'developer', content: 'b' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'c' },
          { type: 'text', text: 'd' },
        ],
      },
    ]);
  });

  it("joins the assistant's words, keeps its refusal, and drops annotations", () => {
    expect(
      translate([
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [
            { type: 'output_text', text: 'One ', annotations: [{ type: 'url_citation', url: 'x' }] },
            { type: 'output_text', text: 'two', annotations: [] },
          ],
        },
        user('Go on'),
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      ]),
    ).toEqual([
      { role: 'assistant', content: 'One two' },
      { role: 'user', content: 'Go on' },
      { role: 'assistant', content: null, refusal: 'No.' },
    ]);
  });

  it('makes one message of what the assistant says and calls, with the outputs after it in the order of the calls', () => {
    expect(
      translate([
        user('Weather?'),
        { role: 'assistant', content: 'I look.' },
        call('a'),
        { type: 'reasoning', id: 'rs_1', summary: [] },
        call('b'),
        output('b', [
          { type: 'input_text', text: 'rain' },
          { type: 'input_text', text: 'y' },
        ]),
        output('a', 'sun'),
      ]),
    ).toEqual([
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: 'I look.', tool_calls: [toolCall('a'), toolCall('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'sun' },
      { role: 'tool', tool_call_id: 'b', content: 'rainy' },
    ]);
  });

  it('puts an output that comes late behind its call, where a chat model wants it', () => {
    expect(translate([call('a'), user('Hurry'), output('a', 'sun')])).toEqual([
      { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
      { role: 'tool', tool_call_id: 'a', content: 'sun' },
      { role: 'user', content: 'Hurry' },
    ]);
  });

  it('pairs calls and outputs in order when an id is used again in a later turn', () => {
    const messages = translate([call('a'), output('a', 'first'), call('a'), output('a', 'second')]);
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['assistant', null],
      ['tool', 'first'],
      ['assistant', null],
      ['tool', 'second'],
    ]);
  });

  it('hands back what an upstream sent with a call, and nothing else of that name', () => {
    const extra = { google: { thought_signature: 'c2ln' } };
    expect(translate([{ ...call('a'), extra_content: extra }])).toEqual([
      { role: 'assistant', content: null, tool_calls: [{ ...toolCall('a'), extra_content: extra }] },
    ]);
    for (const other of [null, 'x', ['x']])
      expect(translate([{ ...call('a'), extra_content: other }])).toEqual([
        { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
      ]);
  });

  it('gives each of two calls of one id in one turn its output', () => {
    const messages = translate([call('a'), call('a'), output('a', 'first'), output('a', 'second')]);
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['assistant', null],
      ['tool', 'first'],
      ['tool', 'second'],
    ]);
  });

  it('leaves a call without an output to the model', () => {
    expect(translate([user('x'), call('a')])).toEqual([
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
    ]);
  });

  it('refuses a second output of one call', () => {
    expect(() => translate([call('a'), output('a', 'sun'), output('a', 'rain')])).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'input.2.call_id' }),
    );
  });

  it('refuses an output without its call, and a conversation without a message', () => {
    expect(() => translate([user('x'), output('a', 'sun')])).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'input.1.call_id' }),
    );
    expect(() => translate([{ type: 'reasoning', summary: [] }])).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'input' }),
    );
  });

  it('answers every call right after the message that makes it, and loses no text', () => {
    const words = fc.string({ minLength: 1 });
    const turn = fc.oneof(
      words.map((text) => [user(text)]),
      words.map((text): ResponseItem[] => [{ role: 'assistant', content: text }]),
      fc.constantFrom('a', 'b').map((id) => [call(id), output(id, `out of ${id}`)]),
    );
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1 }), (turns) => {
        const items = turns.flat();
        const messages = translate(items);
        for (const [index, message] of messages.entries()) {
          if (message.role !== 'tool') continue;
          const asking = messages.slice(0, index).findLast(({ role }) => role !== 'tool');
          expect(asking?.tool_calls?.map(({ id }) => id)).toContain(message.tool_call_id);
        }
        const outputs = items.filter(({ type }) => type === 'function_call_output');
        expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(outputs.length);
        const said = JSON.stringify(messages);
        for (const { content } of items)
          if (typeof content === 'string') expect(said).toContain(JSON.stringify(content).slice(1, -1));
      }),
    );
  });
});
