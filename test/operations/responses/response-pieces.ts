import fc from 'fast-check';
import type { JobEvent } from '../../../src/jobs/executor.ts';
import {
  createResponseOutput,
  type ItemEnd,
  type OutputItem,
  type ResponseEvent,
} from '../../../src/operations/responses/response-output.ts';

export const jobId = '0b9f6c1e-3a55-4c7e-9d1a-5b2f1c8e7a10';

/** What pieces become. */
export const gather = (
  pieces: readonly JobEvent[],
  end: ItemEnd = 'completed',
): { events: ResponseEvent[]; items: OutputItem[] } => {
  const output = createResponseOutput(jobId);
  const events = [...pieces.flatMap((piece) => output.add(piece)), ...output.end(end)];
  return { events, items: output.items() };
};

const text = fc.string({ unit: 'grapheme', maxLength: 6 });

/** Pieces as upstreams send them, and as they should not: mixed, empty, with ids that come twice. */
export const arbitraryPieces: fc.Arbitrary<JobEvent[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom('content' as const, 'reasoning' as const, 'refusal' as const), text }),
    fc.record(
      {
        type: fc.constant('tool_call' as const),
        index: fc.nat(3),
        id: fc.constantFrom('', 'call_a', 'call_b'),
        name: fc.constantFrom('first', 'second'),
        arguments: fc.constantFrom('', '{', '"x":', '1', '}', '{}', '{"y":2}'),
      },
      { requiredKeys: ['type', 'index', 'arguments'] },
    ),
  ),
  { maxLength: 24 },
);
