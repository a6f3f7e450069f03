import { Agent, type Dispatcher } from 'undici';

interface SeenRequest {
  method: string;
  /** With the query. */
  path: string;
  /** Empty where it is no text. */
  body: string;
}

interface SeenAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

type Intercept = (request: SeenRequest, send: () => Promise<SeenAnswer>) => Promise<SeenAnswer>;

/**
 * Hands every request to an address of the operator, from now on and in this whole process, to `intercept`, which sends it or
 * answers in its place. Returns the way back.
 */
export const interceptRequests = (intercept: Intercept): (() => void) => {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its agent below.
  const { dispatch } = Agent.prototype;
  Agent.prototype.dispatch = function (options, handler) {
    const { method, path, body } = options;
    const send = (): Promise<SeenAnswer> =>
      new Promise((resolve, reject) => {
        dispatch.call(this, options, collecting(handler, { resolve, reject }));
      });
    intercept({ method, path, body: typeof body === 'string' ? body : '' }, send).then(
      ({ status, headers, text }) => {
        handler.onResponseStart?.(unheard, status, headers);
        handler.onResponseData?.(unheard, Buffer.from(text));
        handler.onResponseEnd?.(unheard, {});
      },
      (error: Error) => handler.onResponseError?.(unheard, error),
    );
    return true;
  };
  return () => {
    Agent.prototype.dispatch = dispatch;
  };
};

export const jsonAnswer = (value: unknown): SeenAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(value),
});

const collecting = (
  handler: Dispatcher.DispatchHandler,
  { resolve, reject }: { resolve: (answer: SeenAnswer) => void; reject: (error: Error) => void },
): Dispatcher.DispatchHandler => {
  const answer: SeenAnswer = { status: 0, headers: {}, text: '' };
  const chunks: Buffer[] = [];
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onResponseStart: (_controller, status, headers) => void Object.assign(answer, { status, headers }),
    onResponseData: (_controller, chunk) => void chunks.push(chunk),
    onResponseEnd: () => resolve({ ...answer, text: Buffer.concat(chunks).toString('utf8') }),
    onResponseError: (_controller, error) => reject(error),
  };
};

/** The answer is there already: nothing is left to hold up. */
const unheard: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};
