import { parseRate, parseUsd } from '../../kit/money.ts';
import type { ModelConfig, ResolutionRate } from './model.ts';

/** The text SKU of a call that names none. */
export const defaultSku = 'textmodel-3.5-flash';

type Sold = Pick<ModelConfig, 'kind' | 'price'> & Partial<ModelConfig>;

const sandboxModel = (sku: string, sold: Sold): ModelConfig => ({
  sku,
  maxOutputTokens: null,
  routes: [{ provider: 'sandbox', model: sku }],
  duration: null,
  ...sold,
});

const text = (sku: string, input: string, output: string): ModelConfig =>
  sandboxModel(sku, {
    kind: 'chat',
    price: { unit: 'token', input: parseRate(input), output: parseRate(output) },
  });

const rate = (
  resolution: ResolutionRate['resolution'],
  price: string,
  withVideo: string,
): ResolutionRate => ({
  resolution,
  price: parseUsd(price),
  withVideoPrice: parseUsd(withVideo),
});

/** The default SKUs: the contract's text and video models and an image model, served by the sandbox. */
export const defaultModels = (): ModelConfig[] => [
  text(defaultSku, '1.05', '6.30'),
  text('textmodel-3.1-flash-lite', '0.175', '1.05'),
  text('textmodel-3.1-pro', '1.40', '8.40'),
  text('textmodel-3.7-flash', '0.525', '2.625'),
  sandboxModel('imagemodel-1.0', { kind: 'image', price: { unit: 'call', price: parseUsd('0.04') } }),
  sandboxModel('videomodel-2.0', {
    kind: 'video',
    duration: { minimum: 4, maximum: 15, initial: 5, edits: false },
    price: {
      unit: 'second',
      rates: [
        rate('480p', '0.02', '0.012'),
        rate('720p', '0.04', '0.024'),
        rate('1080p', '0.09', '0.055'),
        rate('4k', '0.20', '0.12'),
      ],
    },
  }),
  sandboxModel('videomodel-2.5', {
    kind: 'video',
    duration: { minimum: 4, maximum: 30, initial: null, edits: true },
    price: {
      unit: 'second',
      rates: [
        rate('480p', '0.03', '0.018'),
        rate('720p', '0.06', '0.036'),
        rate('1080p', '0.13', '0.08'),
        rate('4k', '0.28', '0.17'),
      ],
    },
  }),
];
