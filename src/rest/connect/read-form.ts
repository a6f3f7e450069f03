import type { IncomingMessage } from 'node:http';
import { AppError } from '../../kit/errors.ts';
import { readBody } from '../../kit/streams.ts';

const maxFormBytes = 30_000;

/** Reads the form that a page sends. Throws AppError. */
export const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const body = await readBody(request, maxFormBytes);
  if (body === null) throw new AppError('payload_too_large', 'The form is too long.');
  return new URLSearchParams(body.toString());
};
