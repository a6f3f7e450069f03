import { setTimeout as delay } from 'node:timers/promises';
import { Agent, fetch as fetchFrom } from 'undici';

export interface Call {
  url: string;
  headers: Record<string, string>;
  /** Makes it a POST. */
  body?: object;
}

export interface Answer {
  status: number;
  headers: { get(name: string): string | null };
  text: string;
}

const answerWithinMs = 120_000;
const tryAgainMs = 300;

/**
 * A customer at an address of loopback, as limits count addresses. It repeats a call with the same headers and body until
 * the call is answered with one of the `expected` statuses and `isWhole` says so: after a lost connection, 408, 409, 429 and 5xx.
 */
export const createCustomer = (localAddress: string) => {
  const agent = new Agent({ connect: { localAddress }, connections: 32 });
  const askOnce = async ({ url, headers, body }: Call): Promise<Answer> => {
    const sent =
      body === undefined
        ? { headers }
        : {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body: JSON.stringify(body),
          };
    const response = await fetchFrom(url, { ...sent, dispatcher: agent });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  let repeats = 0;
  return {
    /** How often a call was repeated. */
    repeats: () => repeats,
    ask: async (
      call: Call,
      { expected, isWhole = () => true }: { expected: number[]; isWhole?: (text: string) => boolean },
    ): Promise<Answer> => {
      const deadline = performance.now() + answerWithinMs;
      let last = '';
      while (performance.now() < deadline) {
        try {
          const answer = await askOnce(call);
          if (expected.includes(answer.status) && isWhole(answer.text)) return answer;
          last = `${answer.status} ${answer.text.slice(-500)}`;
          const isTemporary = [200, 408, 409, 429].includes(answer.status) || answer.status >= 500;
          if (!isTemporary) break;
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
          last = `${error.message}: ${error.cause instanceof Error ? error.cause.message : ''}`;
        }
        repeats += 1;
        await delay(tryAgainMs);
      }
      throw new Error(`${call.url} ${JSON.stringify(call.body ?? {})} was not answered: ${last}`);
    },
    close: () => agent.destroy(),
  };
};

export type Customer = ReturnType<typeof createCustomer>;
