import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed } from '../kit/errors.ts';
import { writeJson } from '../kit/write-answer.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import { createRequestMemory } from '../limits/request-memory.ts';
import type { Cards } from '../payments/cards/create-cards.ts';
import { readBody } from './read-json-body.ts';

/** Stripe's events are far shorter. */
const maxBytes = 256 * 1024;

/** Takes the events that Stripe sends. Throws AppError. Stripe repeats an event that is not answered with 200. */
export const createStripeWebhook =
  ({ bodyMemory }: { bodyMemory: MemoryBudget }) =>
  async (request: IncomingMessage, response: ServerResponse, cards: Cards): Promise<void> => {
    if (request.method !== 'POST') throw methodNotAllowed('POST');
    const left = new AbortController();
    response.once('close', () => left.abort());
    const memory = createRequestMemory({
      budget: bodyMemory,
      signal: left.signal,
      accountId: undefined,
    });
    const taken = (async () => {
      const body = await readBody(request, { maxBytes, reserve: () => memory.takeBody(maxBytes) });
      await cards.takeEvent(body, String(request.headers['stripe-signature'] ?? ''));
    })();
    memory.holdUntil(taken);
    await taken;
    writeJson(response, { status: 200, body: { received: true } });
  };
