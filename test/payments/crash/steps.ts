import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from '../../../src/store/store.ts';
import { interceptRequests } from '../../http/intercept-requests.ts';

/** A piece of work on its way past its steps. */
interface Walk {
  passed: string[];
  counts: Map<string, number>;
  stopAt: string | null;
  isStopped: boolean;
  stop: () => void;
}

export interface Walked<T> {
  /** The names of the steps in order, such as `before eth_call 2`; a name is counted from its second time on. */
  steps: string[];
  /** Null when the work was stopped. */
  ended: { value: T } | null;
}

const walks = new AsyncLocalStorage<Walk>();

/** Does `work` up to the step of that name; there, and at every later step, it waits for ever. */
export const walk = async <T>(work: () => Promise<T>, stopAt: string | null): Promise<Walked<T>> => {
  const stopped = Promise.withResolvers<null>();
  const walking: Walk = {
    passed: [],
    counts: new Map(),
    stopAt,
    isStopped: false,
    stop: () => stopped.resolve(null),
  };
  const ended = await Promise.race([
    walks.run(walking, async () => ({ value: await work() })),
    stopped.promise,
  ]);
  return { steps: walking.passed, ended };
};

const forever = (): Promise<never> => new Promise(() => {});

const pass = async (walking: Walk, step: string): Promise<void> => {
  if (walking.isStopped) await forever();
  walking.passed.push(step);
  if (step !== walking.stopAt) return;
  walking.isStopped = true;
  walking.stop();
  await forever();
};

const countName = ({ counts }: Walk, name: string): string => {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count === 1 ? name : `${name} ${count}`;
};

/** Two steps of the walk that this is called in: before `work` and after it, however it ends. */
export const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
  const walking = walks.getStore();
  if (walking === undefined) return work();
  const counted = countName(walking, name);
  await pass(walking, `before ${counted}`);
  try {
    return await work();
  } finally {
    await pass(walking, `after ${counted}`);
  }
};

const isFunction = (value: unknown): value is (...input: unknown[]) => unknown => typeof value === 'function';

/** `advancePayment` is told apart by the state that it leads to, and is the same step where it also moves a balance. */
const nameCommand = (command: string, input: unknown): string => {
  const change =
    command === 'advanceCredit' && typeof input === 'object' && input !== null && 'change' in input
      ? input.change
      : input;
  return typeof change === 'object' && change !== null && 'to' in change
    ? `${command === 'advanceCredit' ? 'advancePayment' : command} to ${String(change.to)}`
    : command;
};

/** Every command of the store is a step; it is over when the store has acknowledged it. */
export const watchStore = (store: Store): Store =>
  new Proxy(store, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof property !== 'string' || !isFunction(value)) return value;
      return (...input: unknown[]) =>
        step(nameCommand(property, input[0]), async () => Reflect.apply(value, target, input));
    },
  });

const nameRequest = ({ method, path, body }: { method: string; path: string; body: string }): string => {
  const call: unknown = body === '' ? null : JSON.parse(body);
  if (typeof call === 'object' && call !== null && 'method' in call) return String(call.method);
  return `${method} ${path.split('?')[0]}`;
};

/**
 * Every request is a step, named by its JSON-RPC method or its path; it is over when its answer was read. Returns the way
 * back.
 */
export const watchRequests = (): (() => void) =>
  interceptRequests((request, send) => step(nameRequest(request), send));
