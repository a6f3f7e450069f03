import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed } from '../kit/errors.ts';
import { writeJson } from '../kit/write-answer.ts';
import { smallBodyBytes } from '../limits/memory-budget.ts';
import type { Cards } from '../payments/cards/create-cards.ts';
import { readBody } from './read-json-body.ts';

/**
 * Takes an event that Stripe sends. Throws AppError. Stripe repeats an event that is not answered with 200. Strangers call
 * this, too, so a body uses up no memory of others; a larger one is found by the poll of each minute, as lost ones are.
 */
export const serveStripe = async (
  request: IncomingMessage,
  response: ServerResponse,
  cards: Cards,
): Promise<void> => {
  if (request.method !== 'POST') throw methodNotAllowed('POST');
  const body = await readBody(request, { maxBytes: smallBodyBytes, reserve: () => Promise.resolve() });
  await cards.takeEvent(body, String(request.headers['stripe-signature'] ?? ''));
  writeJson(response, { status: 200, body: { received: true } });
};
