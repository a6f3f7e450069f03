import { createRetryBudget, createRouteBreaker, type Route } from '../../src/providers/route-attempts.ts';
import type { TextEvent } from '../../src/providers/text/text-provider.ts';

/** All events that an answer emits. */
export const collect = async <Event = TextEvent>(
  answer: (emit: (event: Event) => void) => Promise<void>,
): Promise<Event[]> => {
  const all: Event[] = [];
  await answer((event) => all.push(event));
  return all;
};

/** The content of an answer in one text. */
export const contentOf = (events: readonly TextEvent[]): string =>
  events.map((event) => (event.type === 'content' ? event.text : '')).join('');

/** The arguments of an answer's function call in one text. */
export const argumentsOf = (events: readonly TextEvent[]): string =>
  events.map((event) => (event.type === 'tool_call' ? event.arguments : '')).join('');

export const finishOf = (events: readonly TextEvent[]): string | undefined =>
  events.find((event) => event.type === 'finish')?.reason;

export const usageOf = (events: readonly TextEvent[]) =>
  events.find((event) => event.type === 'usage')?.usage;

/** A signal that nobody aborts. */
export const noAbort = (): AbortSignal => new AbortController().signal;

/** What a promise rejects with; fails when it does not. */
export const rejectionOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the promise was expected to reject');
};

/** The only route of a SKU. */
export const onlyRoute = <Provider>(source: Provider): Route<Provider> => ({
  provider: 'p',
  model: 'm',
  isSandbox: false,
  source,
  breaker: createRouteBreaker({ now: () => 0 }),
  budget: createRetryBudget(),
});
