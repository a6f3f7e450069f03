import { z } from 'zod';
import { toIso } from '../kit/clock.ts';
import { ConfigError } from '../kit/errors.ts';
import { formatUsd } from '../kit/money.ts';
import { time } from '../operations/answer-fields.ts';
import { paidUpstreams } from '../payments/buying/paid-upstreams.ts';
import type { OperatorServices } from './operator-operation.ts';
import { like } from './view.ts';

export const paySchema = z.strictObject({
  spent_today_usd: like(z.string().describe('In this UTC day, by all processes.'), '1.20'),
  max_usd_per_day: like(z.string(), '5.00'),
  last_problem: like(
    z
      .strictObject({ text: z.string(), at: time })
      .nullable()
      .describe('Why an answer was not bought, as the process that answers has seen it last.'),
    null,
  ),
});

export type PayView = z.output<typeof paySchema>;

/** Reads the state of each upstream that is paid by x402, by its name; none while a setting is wrong. */
export const readPayViews = async ({
  store,
  clock,
  config,
  gateway,
}: OperatorServices): Promise<Map<string, PayView>> => {
  const spending = await store.listBoughtSpending(clock.now());
  const problems = gateway?.buyer?.problems();
  const read = async (): Promise<ReturnType<typeof paidUpstreams>> => {
    try {
      return paidUpstreams(await config());
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  };
  return new Map(
    (await read()).map(({ upstream, pay }) => {
      const last = problems?.get(upstream);
      const view: PayView = {
        spent_today_usd: formatUsd(spending.find((one) => one.upstream === upstream)?.spent ?? 0n),
        max_usd_per_day: formatUsd(pay.maxPerDay),
        last_problem: last === undefined ? null : { text: last.problem, at: toIso(last.at) },
      };
      return [upstream, view];
    }),
  );
};
