import { createCircuitBreaker, type BreakerPass, type CircuitBreaker } from '../kit/circuit-breaker.ts';
import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import { pause as pauseFor } from '../kit/repeat.ts';
import {
  type EarlierFailure,
  ProviderError,
  type ProviderErrorCode,
  type ProviderFailure,
} from './provider-error.ts';
import type { ModelKind, RouteConfig } from './provider.ts';

/** In tenths of a retry, as whole numbers add up exactly: a full budget, and what each request adds. */
const fullTenths = 100;
const perRequestTenths = 1;
const perRetryTenths = 10;

export type RetryBudget = ReturnType<typeof createRetryBudget>;

/** Limits a provider's retries to a tenth of its requests, and ten at once, so that they never multiply an outage. */
export const createRetryBudget = () => {
  let tenths = fullTenths;
  return {
    /** The retries that can be paid now. */
    left: (): number => Math.floor(tenths / perRetryTenths),
    /** Tells of a first attempt. */
    deposit: (): void => {
      tenths = Math.min(fullTenths, tenths + perRequestTenths);
    },
    /** Pays for one retry; false when there is nothing left. */
    spend: (): boolean => {
      if (tenths < perRetryTenths) return false;
      tenths -= perRetryTenths;
      return true;
    },
  };
};

export interface ServedRoute {
  /** The provider's name in the configuration. */
  provider: string;
  /** The upstream's name of the model. */
  model: string;
  isSandbox: boolean;
  /** Other providers, which failed before. */
  failedProviders?: string[] | undefined;
}

/** A route with the state that its provider shares with other requests. */
export interface Route<Provider> extends ServedRoute {
  source: Provider;
  breaker: RouteBreaker;
  budget: RetryBudget;
}

/** A breaker with what happened last, shared by all SKUs of one provider's model. */
export interface RouteBreaker extends CircuitBreaker {
  health: RouteHealth;
}

export interface RouterOptions {
  clock: Clock;
  log: Log;
  /** From 0 up to 1. */
  random?: () => number;
  /** Ends early when the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface Served<Provider, Answer> {
  route: Route<Provider>;
  pass: BreakerPass;
  attempts: number;
  answer: Answer;
}

const maxWaitMs = 2_000;
const firstBackoffMs = 200;
const attemptsPerRequest = 3;
/** The same route is asked this often when there is another one. */
const attemptsPerRoute = 2;
/** How long a request waits after a rate limit when the upstream does not say. Others may ask the route meanwhile. */
const rateLimitWaitMs = 1_000;
/** How long a route that fails is left alone at first. */
const openMs = 10_000;
/** A timer may end this much early. */
const timerErrorMs = 5;

interface Turn<Provider> {
  index: number;
  route: Route<Provider>;
  pass: BreakerPass;
  /** How often this request has asked this route, including now. */
  tries: number;
}

/** Asks the routes in order, three times in all; nothing else repeats a call. Throws the last ProviderError. */
export const createRouteAttempts = <Provider>(
  routes: readonly Route<Provider>[],
  { log, random = Math.random, pause = pauseFor }: RouterOptions,
) => {
  /** Takes a turn on the first route from `start` on that may be called. */
  const enterFrom = (start: number): Turn<Provider> | null => {
    for (const [offset, route] of routes.slice(start).entries()) {
      const pass = route.breaker.enter();
      if (pass === null) continue;
      route.budget.deposit();
      return { index: start + offset, route, pass, tries: 1 };
    }
    return null;
  };

  /** Returns the wait before the same route is asked again; null when it must not be asked again. */
  const waitBeforeRetry = ({ index, route, tries }: Turn<Provider>, error: ProviderError): number | null => {
    if (error.failure !== 'retry_same') return null;
    const isLastRoute = index === routes.length - 1;
    const isLimited = isRateLimit(error);
    if (!isLastRoute && (tries >= attemptsPerRoute || isLimited)) return null;
    const backoff = firstBackoffMs * 2 ** (tries - 1) * (0.5 + random() / 2);
    const asked = error.retryAfterMs ?? (isLimited ? rateLimitWaitMs : 0);
    const wait = Math.ceil(Math.max(backoff, route.breaker.restMs() + timerErrorMs, asked));
    if (wait > maxWaitMs) return null;
    return route.budget.spend() ? wait : null;
  };

  const nextTurn = async (
    turn: Turn<Provider>,
    error: ProviderError,
    signal: AbortSignal,
  ): Promise<Turn<Provider> | null> => {
    if (error.failure === 'fatal' || error.failure === 'ambiguous') return null;
    const wait = waitBeforeRetry(turn, error);
    if (wait === null) return enterFrom(turn.index + 1);
    await pause(wait, signal);
    signal.throwIfAborted();
    const pass = turn.route.breaker.enter();
    return pass === null ? enterFrom(turn.index + 1) : { ...turn, pass, tries: turn.tries + 1 };
  };

  return async <Answer>(
    ask: (route: Route<Provider>) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Served<Provider, Answer>> => {
    let turn = enterFrom(0);
    const failures: ProviderError[] = [];
    for (let attempt = 1; turn !== null; attempt += 1) {
      const { pass } = turn;
      const earlier = earlierOf(failures, turn.route);
      const failedProviders = earlier.length === 0 ? undefined : earlier.map(({ provider }) => provider);
      const route = { ...turn.route, failedProviders };
      try {
        const answer = await ask(route);
        pass.succeeded();
        route.breaker.health.succeeded();
        const failure = failures.at(-1);
        if (failure !== undefined)
          log.warn(failure.facts(), 'an upstream call failed, and a later attempt answered');
        return { route, pass, attempts: attempt, answer };
      } catch (error) {
        settle({ route, pass, attempts: attempt }, error, signal);
        signal.throwIfAborted();
        if (!(error instanceof ProviderError)) throw error;
        if (error.asked !== undefined && earlier.length > 0) error.asked.earlier = earlier;
        log.debug(error.facts(), 'an attempt at an upstream failed');
        failures.push(error);
        turn = attempt < attemptsPerRequest ? await nextTurn(turn, error, signal) : null;
      }
    }
    throw toFailure(routes, failures);
  };
};

/** What routes say that the request is too large for counts only where no other route may serve it later. */
const toFailure = (
  routes: readonly (ServedRoute & { breaker: CircuitBreaker })[],
  failures: readonly ProviderError[],
): ProviderError => {
  const [unfit, told] = [failures.filter(isOfRoute), failures.filter((one) => !isOfRoute(one))];
  const fitting = routes.filter(
    (route) => !unfit.some(({ asked }) => asked?.provider === route.provider && asked.model === route.model),
  );
  const error = told.at(-1) ?? (fitting.length === 0 ? unfit.at(-1) : undefined) ?? allResting(fitting);
  error.everyRouteRests = told.every(isRateLimit) && fitting.length > 0 && restMsOf(fitting) > 0;
  return error;
};

/** The request is too large for the route, not for every one. */
const isOfRoute = ({ failure, isOfRequest }: ProviderError): boolean =>
  failure === 'retry_other' && isOfRequest;

const isRateLimit = ({ failure, code }: ProviderError): boolean =>
  failure === 'retry_same' && code === 'rate_limit_exceeded';

/** Returns the last failure of each other provider. */
const earlierOf = (failures: readonly ProviderError[], { provider: now }: ServedRoute): EarlierFailure[] => {
  const last = new Map<string, EarlierFailure>();
  for (const { asked, code, message } of failures)
    if (asked !== undefined && asked.provider !== now)
      last.set(asked.provider, { provider: asked.provider, model: asked.model, code, reason: message });
  return [...last.values()];
};

/** Keeps calls away from one provider's model that fails. */
export const createRouteBreaker = (clock: Clock): RouteBreaker => ({
  ...createCircuitBreaker({
    opensAfter: { outcomes: 64, leastOutcomes: 10, failedShare: 0.5 },
    openMs,
    longestOpenMs: 300_000,
    nowMs: () => clock.now(),
  }),
  health: createRouteHealth(clock),
});

/** Reports a failure to the breaker of its upstream, and notes in the error which upstream it was. */
export const settle = (
  { route, pass, attempts }: Omit<Served<unknown, unknown>, 'answer'>,
  error: unknown,
  signal: AbortSignal,
): void => {
  const { provider, model } = route;
  if (error instanceof ProviderError) error.asked = { provider, model, attempts };
  if (!signal.aborted && error instanceof ProviderError) route.breaker.health.failed(error);
  if (signal.aborted || !(error instanceof ProviderError) || error.isOfRequest) pass.released();
  // Without a time, the limit may be of this one request. It closes the route only with many others.
  else if (isRateLimit(error) && (error.retryAfterMs !== undefined || route.breaker.state() !== 'closed'))
    pass.coolDown(error.retryAfterMs ?? openMs);
  else pass.failed();
};

/** Returns the time until one of the routes may be asked; 0 when one may be asked now. */
export const restMsOf = (routes: readonly { breaker: CircuitBreaker }[]): number =>
  Math.min(...routes.map(({ breaker }) => breaker.restMs()));

const allResting = (routes: readonly { breaker: CircuitBreaker }[]): ProviderError =>
  new ProviderError('every route of the model rests after failures or rate limits', {
    failure: 'retry_other',
    code: 'upstream_unavailable',
    retryAfterMs: restMsOf(routes),
  });

export type RouteHealth = ReturnType<typeof createRouteHealth>;

const minuteMs = 60_000;
/** Calls are counted for the minute that runs, and for so many before it. */
const countedMinutes = 5;

/** Remembers the last calls of one provider's model, for the operator. */
const createRouteHealth = (clock: Clock) => {
  let counts: { minute: number; calls: number; failures: number }[] = [];
  const recent = () => {
    const minute = Math.floor(clock.now() / minuteMs);
    counts = counts.filter((one) => one.minute >= minute - countedMinutes);
    return { minute, calls: sum('calls'), failures: sum('failures') };
  };
  const sum = (name: 'calls' | 'failures'): number => counts.reduce((total, one) => total + one[name], 0);
  const count = (failures: 0 | 1): void => {
    const { minute } = recent();
    const last = counts.at(-1);
    if (last?.minute !== minute) counts.push({ minute, calls: 1, failures });
    else {
      last.calls += 1;
      last.failures += failures;
    }
  };
  let lastSuccessAt: number | null = null;
  let lastFailure: { failure: ProviderFailure; code: ProviderErrorCode; at: number } | null = null;
  return {
    succeeded: (): void => {
      count(0);
      lastSuccessAt = clock.now();
    },
    /** A wrong request says nothing about the provider. */
    failed: ({ failure, code, isOfRequest }: ProviderError): void => {
      if (isOfRequest) return;
      count(1);
      lastFailure = { failure, code, at: clock.now() };
    },
    read: () => {
      const { calls, failures } = recent();
      return { calls, failures, lastSuccessAt, lastFailure };
    },
  };
};

interface ServedModel extends RouteConfig {
  kind: ModelKind;
  skus: string[];
  breaker: RouteBreaker;
}

/** Keeps one breaker for each upstream model. */
export const createServedModels = (clock: Clock) => {
  const models = new Map<string, ServedModel>();
  return {
    /** Keeps breakers and health for the SKUs that come next. */
    forgetSkus: (): void => {
      for (const model of models.values()) model.skus = [];
    },
    /** SKUs that share an upstream model share its breaker. */
    breakerOf: (sku: string, kind: ModelKind, { provider, model }: RouteConfig): RouteBreaker => {
      const name = JSON.stringify([kind, provider, model]);
      const known = models.get(name);
      const breaker = known?.breaker ?? createRouteBreaker(clock);
      models.set(name, { kind, provider, model, skus: [...(known?.skus ?? []), sku], breaker });
      return breaker;
    },
    /** Tells of the models of a provider how their last calls from this process went. */
    healthOf: (name: string) =>
      [...models.values()]
        .filter(({ provider, skus }) => provider === name && skus.length > 0)
        .map(({ kind, model, skus, breaker }) => {
          const state = breaker.state();
          const health = breaker.health.read();
          /** No calls are made now, or all calls of the last minutes failed. */
          const isFailing = state !== 'closed' || (health.calls > 0 && health.failures === health.calls);
          return { kind, model, skus, state, isFailing, restMs: breaker.restMs(), ...health };
        }),
  };
};
