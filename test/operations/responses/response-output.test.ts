import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobEvent } from '../../../src/jobs/executor.ts';
import {
  jobIdOfItem,
  jobIdOfResponse,
  responseId,
} from '../../../src/operations/responses/response-object.ts';
import { createResponseOutput, outputItemId } from '../../../src/operations/responses/response-output.ts';
import { arbitraryPieces, gather, jobId } from './response-pieces.ts';

const content = (text: string): JobEvent => ({ type: 'content', text });
const refusal = (text: string): JobEvent => ({ type: 'refusal', text });
const reasoning = (text: string): JobEvent => ({ type: 'reasoning', text });
const call = (index: number, text: string, more: { id?: string; name?: string } = {}): JobEvent => ({
  type: 'tool_call',
  index,
  arguments: text,
  ...more,
});

const typesOf = (pieces: JobEvent[]): string[] => gather(pieces).events.map(({ type }) => type);

describe("a response's output", () => {
  it('is a message for words, with the events in the order of the interface', () => {
    const { items } = gather([content('Hel'), content('lo')]);
    expect(items).toEqual([
      {
        id: `msg_${jobId}_0`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
      },
    ]);
    expect(typesOf([content('Hel'), content('lo')])).toEqual([
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
    ]);
  });

  it('is a function call item for each call, done when the next begins', () => {
    const pieces = [
      call(0, '', { id: 'call_a', name: 'first' }),
      call(0, '{"x":'),
      call(0, '1}'),
      call(1, '{}', { id: 'call_b', name: 'second' }),
    ];
    const shared = { type: 'function_call', status: 'completed' };
    expect(gather(pieces).items).toEqual([
      { ...shared, id: `fc_${jobId}_0`, call_id: 'call_a', name: 'first', arguments: '{"x":1}' },
      { ...shared, id: `fc_${jobId}_1`, call_id: 'call_b', name: 'second', arguments: '{}' },
    ]);
    expect(typesOf(pieces)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
    ]);
  });

  it('puts the arguments of calls that come mixed where they belong', () => {
    const { items } = gather([
      call(0, '{"a"', { id: 'call_a', name: 'first' }),
      call(1, '{"b"', { id: 'call_b', name: 'second' }),
      call(0, ':1}'),
      call(1, ':2}'),
    ]);
    expect(items).toMatchObject([{ arguments: '{"a":1}' }, { arguments: '{"b":2}' }]);
  });

  it('is a reasoning item before the message when the model tells its thoughts', () => {
    const pieces = [reasoning('Hm'), reasoning('m'), content('Yes')];
    expect(gather(pieces).items).toMatchObject([
      {
        id: `rs_${jobId}_0`,
        type: 'reasoning',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'Hmm' }],
        status: 'completed',
      },
      { type: 'message' },
    ]);
    expect(typesOf(pieces).slice(0, 7)).toEqual([
      'response.output_item.added',
      'response.content_part.added',
      'response.reasoning_text.delta',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
      'response.content_part.done',
      'response.output_item.done',
    ]);
  });

  it('has a refusal as a part of the message', () => {
    const pieces = [content('Well, '), refusal('no'), refusal('.')];
    expect(gather(pieces).items).toMatchObject([
      {
        content: [
          { type: 'output_text', text: 'Well, ' },
          { type: 'refusal', refusal: 'no.' },
        ],
      },
    ]);
    expect(typesOf([refusal('no')])).toEqual([
      'response.output_item.added',
      'response.content_part.added',
      'response.refusal.delta',
      'response.refusal.done',
      'response.content_part.done',
      'response.output_item.done',
    ]);
  });

  it('marks what was being written when the answer was cut off, and only that', () => {
    expect(gather([reasoning('x'), content('y')], 'incomplete').items).toMatchObject([
      { status: 'completed' },
      { status: 'incomplete' },
    ]);
    const calls = [call(0, '{}', { id: 'a', name: 'f' }), call(1, '{"x', { id: 'b', name: 'f' })];
    expect(gather(calls, 'incomplete').items).toMatchObject([
      { status: 'completed' },
      { status: 'incomplete' },
    ]);
  });

  it('keeps a call whole whose arguments were complete when the answer was cut off', () => {
    const pieces = [call(0, '{"x":{}', { id: 'a', name: 'f' })];
    expect(gather(pieces, 'incomplete').items).toMatchObject([{ status: 'incomplete' }]);
    expect(gather([...pieces, call(0, '}')], 'incomplete').items).toMatchObject([{ status: 'completed' }]);
  });

  it('is an empty message when the model says nothing', () => {
    expect(gather([]).items).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
  });

  it('gives every call an id of its own', () => {
    const { items } = gather([
      call(0, '{}', { id: '' }),
      call(1, '{}', { id: 'x' }),
      call(2, '{}', { id: 'x' }),
    ]);
    const ids = items.map((item) => (item.type === 'function_call' ? item.call_id : ''));
    expect(ids).toContain('x');
    expect(ids).not.toContain('');
    expect(new Set(ids).size).toBe(3);
  });

  it('keeps what an upstream wants back with a call, with its first piece or a later one', () => {
    const extraContent = { google: { thought_signature: 'c2ln' } };
    const { items, events } = gather([
      { type: 'tool_call', index: 0, id: 'a', name: 'first', arguments: '{}', extraContent },
      { type: 'tool_call', index: 1, id: 'b', name: 'second', arguments: '{' },
      { type: 'tool_call', index: 1, arguments: '}', extraContent },
      { type: 'tool_call', index: 2, id: 'c', name: 'third', arguments: '{}' },
    ]);
    expect(items).toMatchObject([{ extra_content: extraContent }, { extra_content: extraContent }, {}]);
    expect(items[2]).not.toHaveProperty('extra_content');
    const ended = events.filter((event) => event.type === 'response.output_item.done');
    expect(ended.map(({ item }) => item)).toEqual(items);
  });

  it('has an end, in length and in number of items', () => {
    const long = createResponseOutput(jobId);
    const piece = content('x'.repeat(1024 * 1024));
    expect(() => {
      for (let index = 0; index < 9; index += 1) long.add(piece);
    }).toThrow(RangeError);
    const many = createResponseOutput(jobId);
    expect(() => {
      for (let index = 0; index < 100_000; index += 1) {
        many.add(content(''));
        many.add(reasoning(''));
      }
    }).toThrow(RangeError);
  });

  it('is the same whether a text comes in one piece or in many', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1 }), (texts) => {
        expect(gather(texts.map(content)).items).toEqual(gather([content(texts.join(''))]).items);
      }),
    );
  });

  it('loses no word of the answer, whatever the order', () => {
    fc.assert(
      fc.property(arbitraryPieces, (pieces) => {
        const said = pieces.map((piece) => (piece.type === 'content' ? piece.text : '')).join('');
        const kept = gather(pieces).items.flatMap((item) =>
          item.type === 'message'
            ? item.content.map((part) => (part.type === 'output_text' ? part.text : ''))
            : [],
        );
        expect(kept.join('')).toBe(said);
      }),
    );
  });
});

describe('the ids of a response', () => {
  it('lead back to the job', () => {
    expect(jobIdOfResponse(responseId(jobId))).toBe(jobId);
    for (const prefix of ['msg', 'fc', 'rs'] as const)
      expect(jobIdOfItem(outputItemId(prefix, jobId, 12))).toBe(jobId);
  });

  it.each([
    '',
    jobId,
    `resp_${jobId}x`,
    `chatcmpl-${jobId}`,
    `msg_${jobId}`,
    `xx_${jobId}_0`,
    `msg_${jobId}_x`,
  ])('are no others: %s', (id) => {
    expect(jobIdOfResponse(id)).toBeNull();
    expect(jobIdOfItem(id)).toBeNull();
  });
});
