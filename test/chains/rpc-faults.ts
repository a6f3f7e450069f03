import { EventEmitter, once } from 'node:events';

/**
 * What can go wrong between a client and its node.
 * - `error`: answered with a JSON-RPC error; the node never sees the call.
 * - `unavailable`: answered with HTTP 503; the node never sees the call.
 * - `disconnect`: the connection is cut; the node never sees the call.
 * - `hang`: never answered; the node never sees the call. Cut when the fault is removed.
 * - `lose-answer`: the node does the work, then the connection is cut.
 * - `hang-answer`: the node does the work, then nothing comes back. Cut when the fault is removed.
 * - `hold`: the call waits before the node until the fault is removed, then goes its normal way.
 */
export type RpcFault =
  | 'error'
  | 'unavailable'
  | 'disconnect'
  | 'hang'
  | 'lose-answer'
  | 'hang-answer'
  | 'hold';

interface FaultRule {
  fault: RpcFault;
  /** The methods it strikes; absent: every call. */
  methods?: readonly string[];
  /** How many requests it strikes; absent: until it is removed. */
  times?: number;
}

interface InjectedFault {
  /** Requests struck so far. */
  readonly hits: number;
  /** Resolves at the first hit, at once if there was one; rejects after a minute. */
  waitForHit: () => Promise<void>;
  /** Ends it: held requests go on, hanging ones are cut. */
  remove: () => void;
}

/** The switches in front of a chain's RPC. */
export interface RpcControls {
  inject: (rule: FaultRule) => InjectedFault;
  /** Removes every fault. */
  clearFaults: () => void;
  /** Calls of that method that arrived so far, struck ones included. */
  callCount: (method: string) => number;
}

/** A fault that struck a request; `ended` resolves when it is removed. */
export interface Strike {
  fault: RpcFault;
  ended: Promise<void>;
}

export interface RpcFaults extends RpcControls {
  /** Counts the request's methods and says what goes wrong with it, null for nothing. */
  strike: (methods: readonly string[]) => Strike | null;
}

interface ActiveFault {
  rule: FaultRule;
  hits: number;
  events: EventEmitter<{ hit: [] }>;
  ended: PromiseWithResolvers<void>;
}

const strikes = (active: ActiveFault, methods: readonly string[]): boolean => {
  const { rule, hits } = active;
  if (rule.times !== undefined && hits >= rule.times) return false;
  return rule.methods === undefined || methods.some((method) => rule.methods?.includes(method));
};

export const createRpcFaults = (): RpcFaults => {
  const active = new Set<ActiveFault>();
  const counts = new Map<string, number>();

  const remove = (fault: ActiveFault): void => {
    active.delete(fault);
    fault.ended.resolve();
  };

  return {
    inject: (rule) => {
      const fault: ActiveFault = {
        rule,
        hits: 0,
        events: new EventEmitter(),
        ended: Promise.withResolvers(),
      };
      active.add(fault);
      return {
        get hits() {
          return fault.hits;
        },
        waitForHit: async () => {
          if (fault.hits === 0) await once(fault.events, 'hit', { signal: AbortSignal.timeout(60_000) });
        },
        remove: () => remove(fault),
      };
    },
    clearFaults: () => {
      for (const fault of active) remove(fault);
    },
    callCount: (method) => counts.get(method) ?? 0,
    strike: (methods) => {
      for (const method of methods) counts.set(method, (counts.get(method) ?? 0) + 1);
      for (const fault of active) {
        if (!strikes(fault, methods)) continue;
        fault.hits += 1;
        fault.events.emit('hit');
        return { fault: fault.rule.fault, ended: fault.ended.promise };
      }
      return null;
    },
  };
};
