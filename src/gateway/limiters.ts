import { createUsageTags } from '../accounts/usage-tags.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../kit/log.ts';
import { createAddressLimiter } from '../limits/address-limiter.ts';
import { createAccountLimiter } from '../limits/minute-limit.ts';
import type { RedisConnection } from '../limits/redis-connection.ts';
import type { Operation } from '../operations/definition.ts';
import { isReadByProof, offerOf } from '../operations/sale-rules.ts';
import type { Store } from '../store/store.ts';

interface LimiterOptions {
  config: Config;
  operations: readonly Operation[];
  redis: RedisConnection | null;
  log: Log;
  store: Store;
}

/** Reads without a key, of one client address. */
const proofReads = { unit: { one: 'proof-read', many: 'reads with a payment proof' }, ratePerMinute: 60 };

/** The limits that all calls share, by address and by account. */
export const createLimiters = ({ config, operations, redis, log, store }: LimiterOptions) => {
  const limit = (one: string, many: string, ratePerMinute: number) =>
    createAddressLimiter({ unit: { one, many }, ratePerMinute, redis, log });
  return {
    addressLimiters: new Map(
      operations.flatMap(({ name, sale }) => {
        const limits = offerOf(sale) ?? (isReadByProof(sale, { config }) ? proofReads : null);
        return limits === null ? [] : [[name, createAddressLimiter({ ...limits, redis, log })]];
      }),
    ),
    failedOperatorCalls: limit('failed-operator-call', 'calls without a valid operator key', 20),
    failedSignIns: limit('failed-sign-in', 'sign-ins without a valid key', 20),
    preparedTransfers: limit('prepared-transfer', 'prepared transfers', 30),
    accountLimiter: createAccountLimiter({ redis }),
    usageTags: createUsageTags({ store }),
  };
};
