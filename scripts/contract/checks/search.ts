import {
  describeAnswer,
  expectEqual,
  expectError,
  expectHeader,
  expectJson,
  expectStatus,
  expectThat,
} from '../assertions.ts';
import type { Check } from '../check.ts';
import type { Answer } from '../client.ts';
import {
  exactly,
  expectShape,
  filledText,
  integer,
  isRecord,
  listOf,
  members,
  text,
  usd,
  type JsonRecord,
} from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { fromNano, toNano } from '../usd.ts';

const ask = (suite: Suite, query: string, headers?: Record<string, string>): Promise<Answer> =>
  suite.call(`/v1/search${query === '' ? '' : `?${query}`}`, {
    key: null,
    ...(headers === undefined ? {} : { headers }),
  });

const bodyShape = members({
  error: filledText,
  x402: members(
    { version: filledText, amount: usd, asset: filledText, payTo: filledText, chain: filledText },
    { only: true },
  ),
});

const termsShape = members({
  x402Version: exactly(2),
  resource: members({ url: filledText }),
  accepts: listOf(
    members({
      scheme: exactly('exact'),
      network: filledText,
      asset: filledText,
      amount: filledText,
      payTo: filledText,
      maxTimeoutSeconds: integer,
    }),
    1,
  ),
});

interface Terms extends JsonRecord {
  accepts: { network: string; amount: string }[];
}

/** Returns the terms in the PAYMENT-REQUIRED header. */
const termsOf = (answer: Answer): Terms => {
  expectStatus(answer, 402);
  const header = expectHeader(answer, 'payment-required', /^[A-Za-z0-9+/]+=*$/);
  const terms: unknown = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  expectShape(terms, termsShape, 'the decoded PAYMENT-REQUIRED');
  return terms as Terms;
};

const amountOf = (answer: Answer): string => {
  const { x402 } = expectJson(answer, 402);
  return isRecord(x402) ? String(x402['amount']) : '';
};

const unpaid = (suite: Suite) => suite.once('unpaid search', () => ask(suite, ''));

const detailShape = members(
  { detail: listOf(members({ loc: listOf(text, 2), msg: filledText, type: filledText }), 1) },
  { only: true },
);

/** Expects a 422 of search that names these parameters. */
const expectInvalid = (answer: Answer, ...names: readonly string[]): void => {
  const body = expectJson(answer, 422);
  expectShape(body, detailShape, describeAnswer(answer));
  const named = (body['detail'] as { loc: string[] }[]).map(({ loc }) => loc.join('.'));
  for (const name of names)
    expectThat(named.includes(`query.${name}`), `${describeAnswer(answer)}; does not name ${name}`);
};

const families = { Base: /^eip155:(?:8453|84532)$/, Solana: /^solana:/ };

export const searchChecks: readonly Check[] = [
  {
    id: 'SRCH-1',
    title: 'an unpaid search is 402 with the documented body, and caches must not store it',
    needs: ['search'],
    run: async (suite) => {
      const answer = await unpaid(suite);
      expectShape(expectJson(answer, 402), bodyShape, 'the body');
      expectHeader(answer, 'cache-control', /no-store/);
    },
  },
  {
    id: 'SRCH-2',
    title: 'PAYMENT-REQUIRED carries the terms of every network',
    needs: ['search'],
    run: async (suite) => {
      const answer = await unpaid(suite);
      const { accepts } = termsOf(answer);
      for (const [name, pattern] of Object.entries(families))
        expectThat(
          accepts.some(({ network }) => pattern.test(network)),
          `${name} is not among ${accepts.map(({ network }) => network).join(', ')}; can its facilitator be reached?`,
        );
    },
  },
  {
    id: 'SRCH-3',
    title: 'the body has the same amount as the terms, and x402 v1 terms beside it',
    needs: ['search'],
    run: async (suite) => {
      const answer = await unpaid(suite);
      const amount = toNano(amountOf(answer));
      const { accepts } = termsOf(answer);
      for (const { amount: smallest } of accepts.slice(0, 1))
        expectEqual(fromNano(BigInt(smallest) * 1_000n), fromNano(amount), 'the amount of six decimals');
      expectShape(
        answer.json,
        members({
          x402Version: exactly(1),
          accepts: listOf(members({ maxAmountRequired: filledText, network: filledText }), 1),
        }),
        'the v1 terms',
      );
    },
  },
  {
    id: 'SRCH-4',
    title: 'the price is 0.10, and 0.002 for each result above 20; or flat 0.50',
    needs: ['search'],
    run: async (suite) => {
      const isFlat = amountOf(await unpaid(suite)) === '0.50';
      const prices: [number, string][] = [
        [1, '0.10'],
        [20, '0.10'],
        [30, '0.12'],
        [50, '0.16'],
        [75, '0.21'],
        [100, '0.26'],
      ];
      for (const [limit, price] of prices) {
        const answer = await ask(suite, `limit=${limit}`);
        if (answer.status === 422 && limit > 50) continue;
        expectEqual(amountOf(answer), isFlat ? '0.50' : price, `the price of limit=${limit}`);
      }
    },
  },
  {
    id: 'SRCH-5',
    title: 'a wrong parameter is 422 before any payment, and detail names every wrong one',
    needs: ['search'],
    run: async (suite) => {
      expectInvalid(
        await ask(suite, 'limit=500&gender=x&country=USA&min_followers=-1'),
        'limit',
        'gender',
        'country',
        'min_followers',
      );
    },
  },
  {
    id: 'SRCH-6',
    title: 'limit is a whole number from 1 to 50 or 100',
    needs: ['search'],
    run: async (suite) => {
      for (const limit of ['0', '101', 'ten', '1.5'])
        expectInvalid(await ask(suite, `limit=${limit}`), 'limit');
      expectStatus(await ask(suite, 'limit=1'), 402);
    },
  },
  {
    id: 'SRCH-7',
    title: 'followers range from 0, the least to 1,000,000,000 and not above the most, which has no bound',
    needs: ['search'],
    run: async (suite) => {
      for (const name of ['min_followers', 'max_followers'])
        for (const value of ['-1', 'many']) expectInvalid(await ask(suite, `${name}=${value}`), name);
      expectInvalid(await ask(suite, 'min_followers=1000000001'), 'min_followers');
      expectInvalid(await ask(suite, 'min_followers=5&max_followers=4'));
      expectStatus(await ask(suite, 'min_followers=0&max_followers=9007199254740991'), 402);
    },
  },
  {
    id: 'SRCH-8',
    title:
      'country is two letters in either case; gender male or female; empty and unknown parameters are ignored, misspelt ones named',
    needs: ['search'],
    run: async (suite) => {
      expectInvalid(await ask(suite, 'country=U1'), 'country');
      expectInvalid(await ask(suite, 'gender=other'), 'gender');
      for (const slip of ['qurey', 'Limit']) expectInvalid(await ask(suite, `${slip}=1`), slip);
      const taken = [
        'country=us',
        'gender=female&category=Fitness',
        'unknown=1&query=coffee',
        'query=&country=&category=&gender=&min_followers=&max_followers=&limit=',
      ];
      for (const query of taken) expectStatus(await ask(suite, query), 402);
    },
  },
  {
    id: 'SRCH-9',
    title: 'an invalid proof is refused and serves nothing',
    needs: ['search'],
    run: async (suite) => {
      const proofs = [
        'nonsense',
        Buffer.from('{}').toString('base64'),
        Buffer.from('[1]').toString('base64'),
      ];
      for (const proof of proofs)
        for (const name of ['x-payment', 'payment-signature'])
          expectStatus(await ask(suite, 'limit=1', { [name]: proof }), 400, 402);
    },
  },
  {
    id: 'SRCH-10',
    title: 'an API key changes nothing: search is paid per request',
    needs: ['search'],
    run: async (suite) => {
      expectStatus(await suite.call('/v1/search?limit=1'), 402);
      expectStatus(await suite.call('/v1/search?limit=1', { key: 'wrong' }), 402);
    },
  },
  {
    id: 'SRCH-11',
    title: 'above 60 requests a minute, an address gets 429 with Retry-After',
    needs: ['search', 'rate_limit'],
    isExclusive: true,
    run: async (suite) => {
      const most = 70;
      for (let number = 1; number <= most; number += 1) {
        const answer = await ask(suite, 'limit=1');
        if (answer.status === 402) continue;
        expectError(answer, { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_exceeded' });
        const seconds = Number(expectHeader(answer, 'retry-after', /^\d+$/));
        expectThat(seconds >= 1 && seconds <= 60, `Retry-After is ${seconds}`);
        return;
      }
      expectThat(false, `${most} requests in a row were not limited`);
    },
  },
];
