import { z } from 'zod';
import type { Json } from '../../kit/json.ts';
import { LeadInputError } from './lead-input-error.ts';

const count = z.int().min(0);
const line = z.int().min(1);

const placeSchema = z.union([
  z.object({
    format: z.literal('csv'),
    byte: count,
    line,
    names: z.array(z.string()),
    delimiter: z.string(),
  }),
  z.object({ format: z.literal('jsonl'), byte: count, line }),
  z.object({ format: z.literal('parquet'), row: count }),
]);

const positionSchema = z.object({
  /** The index of the file. */
  file: count,
  /** Rows read in all files so far, and the number of rejected ones. */
  rows: count,
  rejected: count,
  /** Null at the beginning of the file. */
  at: placeSchema.nullable(),
});

/** A position in one file, between two rows. */
export type FilePlace = z.infer<typeof placeSchema>;
/** A position in an input of several files, as in a batch's `position`. */
export type InputPosition = z.infer<typeof positionSchema>;

export const readPosition = (position: Json): InputPosition => {
  const read = positionSchema.safeParse(position);
  if (read.success) return read.data;
  throw new LeadInputError('The place where the import stopped cannot be understood; begin it again.');
};
