import type { ModelKind, RouteConfig } from '../providers/provider.ts';
import type { Price } from './price.ts';

export interface ModelConfig {
  sku: string;
  /** `chat` SKUs serve chat completions and responses. */
  kind: ModelKind;
  price: Price;
  /** For chat SKUs: maximum number of output tokens that are held and requested upstream. */
  maxOutputTokens: number;
  /** In order of preference. */
  routes: RouteConfig[];
  /** For video SKUs; null for others. */
  duration: DurationRule | null;
}

/** The video lengths of a SKU, in seconds. */
export interface DurationRule {
  minimum: number;
  maximum: number;
  /** The default; null if the caller must name a length. */
  initial: number | null;
  /** True if the length -1 edits a reference video and keeps its length. */
  edits: boolean;
}
