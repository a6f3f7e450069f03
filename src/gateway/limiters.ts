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
export const createLimiters = ({ config, operations, redis, log, store }: LimiterOptions) => ({
  addressLimiters: new Map(
    operations.flatMap(({ name, sale }) => {
      const limit = offerOf(sale) ?? (isReadByProof(sale, { config }) ? proofReads : null);
      return limit === null ? [] : [[name, createAddressLimiter({ ...limit, redis, log })]];
    }),
  ),
  failedOperatorCalls: createAddressLimiter({
    unit: { one: 'failed-operator-call', many: 'calls without a valid operator key' },
    ratePerMinute: 20,
    redis,
    log,
  }),
  failedSignIns: createAddressLimiter({
    unit: { one: 'failed-sign-in', many: 'sign-ins without a valid key' },
    ratePerMinute: 20,
    redis,
    log,
  }),
  preparedTransfers: createAddressLimiter({
    unit: { one: 'prepared-transfer', many: 'prepared transfers' },
    ratePerMinute: 30,
    redis,
    log,
  }),
  accountLimiter: createAccountLimiter({ redis }),
  usageTags: createUsageTags({ store }),
});
