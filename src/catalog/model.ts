import type { ModelKind, RouteConfig } from '../providers/provider.ts';
import type { Price } from './price.ts';

export interface ModelConfig {
  sku: string;
  /** `chat` SKUs serve chat completions and responses. */
  kind: ModelKind;
  price: Price;
  /** Of chat SKUs: the most output tokens that are held and asked of an upstream. */
  maxOutputTokens: number;
  /** In order of preference. */
  routes: RouteConfig[];
  /** Of video SKUs; null for others. */
  duration: DurationRule | null;
}

/** The lengths that a video SKU makes, in seconds. */
export interface DurationRule {
  minimum: number;
  maximum: number;
  /** Null: the caller must name one. */
  initial: number | null;
  /** Whether -1 edits a reference video, whose length the output keeps. */
  edits: boolean;
}
