import type { DurationRule, Price, ResolutionRate } from '../../catalog/model.ts';
import type { VideoResolution } from '../../providers/video/video-provider.ts';
import { refuseInput } from '../../media/refuse-input.ts';
import type { Nano } from '../../kit/money.ts';

/** The tolerance above a whole second, because containers round their time base. */
const measuringErrorSeconds = 0.001;

export interface VideoOrder {
  /** The length of the output. -1 for an edit. */
  durationSeconds: number;
  resolution: VideoResolution;
  referenceSeconds: readonly number[];
}

/**
 * Returns the billed seconds of a video (docs/contract.md, "Video"). Without reference videos: its length. With reference
 * videos: their total rounded up plus its length, at least 5/3 of its length rounded up. An edit: their total rounded up.
 */
export const billedSeconds = ({
  durationSeconds,
  referenceSeconds,
}: Pick<VideoOrder, 'durationSeconds' | 'referenceSeconds'>): number => {
  if (referenceSeconds.length === 0) return durationSeconds;
  const total = referenceSeconds.reduce((sum, seconds) => sum + seconds, 0);
  const referenced = Math.ceil(total - measuringErrorSeconds);
  if (durationSeconds === -1) return referenced;
  return Math.max(referenced + durationSeconds, Math.ceil((durationSeconds * 5) / 3));
};

export const priceVideo = (price: Price, order: VideoOrder): { price: Nano; seconds: number } => {
  const { resolution, referenceSeconds } = order;
  const perSecond = secondPrice(price, { resolution, hasReferenceVideo: referenceSeconds.length > 0 });
  const seconds = billedSeconds(order);
  return { price: perSecond * BigInt(seconds), seconds };
};

const secondPrice = (
  price: Price,
  { resolution, hasReferenceVideo }: { resolution: VideoResolution; hasReferenceVideo: boolean },
): Nano => {
  const rate = rateFor(price, resolution);
  const perSecond = hasReferenceVideo ? rate.withVideoPrice : rate.price;
  if (perSecond !== null) return perSecond;
  throw refuseInput(
    'resolution',
    `this model takes no reference videos at ${resolution}. See GET /v1/models.`,
  );
};

const rateFor = (price: Price, resolution: VideoResolution): ResolutionRate => {
  const rate =
    price.unit === 'second'
      ? price.rates.find((candidate) => candidate.resolution === resolution)
      : undefined;
  if (rate === undefined)
    throw refuseInput(
      'resolution',
      `this model does not make ${resolution}. See its rates in GET /v1/models.`,
    );
  return rate;
};

/** Returns the length of the output, -1 for an edit. Throws AppError on a length that the SKU does not make. */
export const durationOf = (rule: DurationRule, asked: number | null, hasReferenceVideo: boolean): number => {
  const refuse = (text: string): never => {
    throw refuseInput('duration', text);
  };
  if (asked === null) return rule.initial ?? refuse(`must be given for this model, ${rangeText(rule)}`);
  if (asked === -1) {
    if (!rule.edits) return refuse(`this model does not edit videos; must be ${rangeText(rule)}`);
    return hasReferenceVideo ? -1 : refuse('-1 edits a reference video; send one, or name a length');
  }
  return asked >= rule.minimum && asked <= rule.maximum ? asked : refuse(`must be ${rangeText(rule)}`);
};

const rangeText = ({ minimum, maximum, edits }: DurationRule): string =>
  `${minimum} to ${maximum} seconds${edits ? ', or -1 to edit a reference video' : ''}`;
