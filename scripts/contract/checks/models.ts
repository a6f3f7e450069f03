import { expectEqual, expectError, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { createPaths, leastBodies, noSku } from '../fixtures.ts';
import {
  count,
  exactly,
  expectShape,
  filledText,
  listOf,
  members,
  oneOf,
  orNull,
  usd,
  type JsonRecord,
  type Shape,
} from '../shapes.ts';

const model = members({
  id: filledText,
  object: exactly('model'),
  created: count,
  owned_by: filledText,
  kind: oneOf('chat', 'image', 'video'),
  pricing: members({ unit: oneOf('call', 'second', 'token'), currency: exactly('USD') }),
});

const pricing: Record<string, Shape> = {
  call: members({ unit: exactly('call'), currency: exactly('USD'), price_usd: usd }, { only: true }),
  token: members(
    { unit: exactly('token'), currency: exactly('USD'), input_usd_per_1m: usd, output_usd_per_1m: usd },
    { only: true },
  ),
  second: members(
    {
      unit: exactly('second'),
      currency: exactly('USD'),
      rates: listOf(
        members({ resolution: filledText, price_usd: usd, with_video_price_usd: orNull(usd) }),
        1,
      ),
    },
    { only: true },
  ),
};

export const modelChecks: readonly Check[] = [
  {
    id: 'MOD-1',
    title: 'GET /v1/models lists the SKUs of the account with their prices',
    run: async (suite) => {
      const body = expectJson(await suite.call('/v1/models'), 200);
      expectShape(body, members({ object: exactly('list'), data: listOf(model, 1) }), 'the list');
      const ids = suite.models.map(({ id }) => id);
      expectThat(new Set(ids).size === ids.length, 'a SKU is listed twice');
    },
  },
  {
    id: 'MOD-2',
    title: 'a SKU is priced in exactly one unit, in US dollars',
    run: async (suite) => {
      for (const { id, pricing: price } of suite.models) {
        const unit = String((price as JsonRecord)['unit']);
        expectShape(price, pricing[unit] ?? (() => `has the unit ${unit}`), `the price of ${String(id)}`);
      }
    },
  },
  {
    id: 'MOD-3',
    title: 'every create call refuses a SKU that is not listed',
    run: async (suite) => {
      const wanted = { status: 400, code: 'model_not_found', param: 'model' };
      for (const path of createPaths(suite))
        expectError(await suite.call(path, { body: { ...leastBodies[path], model: noSku } }), wanted);
    },
  },
  {
    id: 'MOD-4',
    title: 'every create call refuses a SKU of another kind',
    needs: ['image', 'chat'],
    run: async (suite) => {
      const wanted = { status: 400, code: 'model_not_found' };
      const { image, chat } = suite;
      expectError(
        await suite.call('/v1/images/generations', { body: { model: chat?.id, prompt: 'x' } }),
        wanted,
      );
      const messages = [{ role: 'user', content: 'x' }];
      expectError(await suite.call('/v1/chat/completions', { body: { model: image?.id, messages } }), wanted);
    },
  },
  {
    id: 'MOD-5',
    title: 'GET /v1/models/{id} returns one SKU as in the list, and 404 for others',
    run: async (suite) => {
      const [first] = suite.models;
      const id = String(first?.['id']);
      expectEqual(
        expectJson(await suite.call(`/v1/models/${encodeURIComponent(id)}`), 200),
        first,
        'the SKU',
      );
      expectError(await suite.call(`/v1/models/${noSku}`), { status: 404 });
    },
  },
];
