import { z } from 'zod';
import { jsonAnswer } from '../../src/operations/answer.ts';
import type { ReadOperation } from '../../src/operations/definition.ts';

const input = z.object({
  board: z.string().min(1).max(64).describe('The name of a board.'),
  text: z.string().min(1).max(200).describe('The note.'),
});

const output = z.looseObject({
  board: z.string().describe('The board that has the note now.'),
  note: z.looseObject({ text: z.string(), length: z.int() }),
});

/** An operation that the gateway does not have. The test of adding one adds it. */
export const leaveNote: ReadOperation<z.infer<typeof input>> = {
  name: 'leave_note',
  title: 'Leave a note',
  description: 'Leaves a note on a board. Boards are listed by list_models. Free.',
  group: 'generation',
  sale: {
    kind: 'free',
    handle: async ({ board, text }) =>
      jsonAnswer(
        { board, note: { text, length: text.length } },
        { headers: { 'x-note-length': String(text.length) } },
      ),
  },
  input,
  output,
  rest: {
    method: 'POST',
    path: '/v1/boards/{board}/notes',
    query: [],
    validation: 'envelope',
    errors: ['not_found'],
  },
  tool: { readOnly: false, idempotent: false, openWorld: false },
  docs: {
    answer: 'Note',
    description: null,
    examples: [
      {
        summary: 'A short note',
        parameters: { board: 'kitchen' },
        body: { text: 'Buy coffee' },
        status: 200,
        answer: { board: 'kitchen', note: { text: 'Buy coffee', length: 10 } },
      },
    ],
    wrong: { board: 'kitchen' },
    headers: { 'X-Note-Length': 'How long the note is.' },
    mayBeSandbox: false,
    errors: { not_found: { when: 'There is no such board.', message: 'board: there is no such board.' } },
  },
};
