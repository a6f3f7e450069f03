import type { Price } from '../../accounts/catalog/model.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatRate, formatUsd, type Nano } from '../../kit/money.ts';
import type { TextUsage } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import { parametersOf } from '../videos/video-answer.ts';

/** The units of a charge and their rate, for people and programs. */
export type ChargedUnits = { units: JsonObject; rate: JsonObject };

const flat = (unit: 'call' | 'second', price: Nano): JsonObject => ({ unit, price_usd: formatUsd(price) });

/** Returns what the charge of a text job is made of. Its metadata keeps that, because the rates may change later. */
export const textUnits = (
  price: Price,
  { promptTokens, completionTokens }: Pick<TextUsage, 'promptTokens' | 'completionTokens'>,
): ChargedUnits => {
  switch (price.unit) {
    case 'call':
      return { units: { calls: 1 }, rate: flat('call', price.price) };
    case 'token':
      return {
        units: { input_tokens: promptTokens, output_tokens: completionTokens },
        rate: {
          unit: 'token',
          input_usd_per_1m: formatRate(price.input),
          output_usd_per_1m: formatRate(price.output),
        },
      };
    case 'second':
      throw new TypeError('text is not priced by the second');
  }
};

/**
 * Returns the units and the rate of a job's charge. For an image or a video, the charge is a whole multiple of the
 * rate. Null for a job that has not ended or was not charged, and for a text job of a version that did not keep it.
 */
export const chargedUnits = (job: Job): ChargedUnits | null => {
  if (job.status !== 'done') return null;
  switch (job.kind) {
    case 'chat':
    case 'responses': {
      const { bill } = JSON.parse(job.metadata ?? '{}') as { bill?: ChargedUnits };
      return bill ?? null;
    }
    case 'image':
      return { units: { calls: 1 }, rate: flat('call', job.charged) };
    case 'video': {
      const { billed_seconds: seconds } = parametersOf(job);
      return { units: { seconds }, rate: flat('second', job.charged / BigInt(seconds)) };
    }
  }
};
