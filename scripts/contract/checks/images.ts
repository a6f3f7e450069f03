import {
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
  asyncImage,
  customData,
  endOfJob,
  failedImage,
  imageBody,
  noSku,
  pngUri,
  postImage,
  syncImage,
} from '../fixtures.ts';
import { exactly, expectShape, filledText, members, oneOf, uuid, type JsonRecord } from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { expectRefusals, expectTooDear, expectWellFormed } from './refusals.ts';

const path = '/v1/images/generations';
const ratios = ['auto', '4:3', '3:4', '16:9', '9:16', '2:3', '3:2', '1:1', '4:5', '5:4', '21:9'];
const invalid = { status: 422, code: 'invalid_parameter', type: 'invalid_request_error' };
const bare = (more: JsonRecord): JsonRecord => ({ model: noSku, prompt: 'A lighthouse.', ...more });

const isPicture = (bytes: Buffer): boolean =>
  bytes.subarray(1, 4).toString('latin1') === 'PNG' ||
  bytes.readUInt16BE(0) === 0xffd8 ||
  bytes.subarray(8, 12).toString('latin1') === 'WEBP';

const resultOf = async (suite: Suite): Promise<{ url: string; answer: Answer }> => {
  const { job } = await asyncImage(suite);
  const [item] = job['data'] as JsonRecord[];
  const url = String(item?.['url']);
  return { url, answer: await suite.call(url, { key: null }) };
};

export const imageChecks: readonly Check[] = [
  {
    id: 'IMG-1',
    title: 'a call that waits returns 200 with the job and its id',
    needs: ['image'],
    run: async (suite) => {
      const body = expectJson((await syncImage(suite)).created, 200);
      expectShape(body, members({ id: uuid, status: oneOf('queued', 'running', 'done') }), 'the answer');
    },
  },
  {
    id: 'IMG-2',
    title: 'async=true returns 202 with the job and its id',
    needs: ['image'],
    run: async (suite) => {
      const body = expectJson((await asyncImage(suite)).created, 202);
      expectShape(body, members({ id: uuid, status: oneOf('queued', 'running', 'done') }), 'the answer');
    },
  },
  {
    id: 'IMG-3',
    title: "results are pictures at the service's own addresses, readable without a key",
    needs: ['image'],
    run: async (suite) => {
      const { url, answer } = await resultOf(suite);
      expectEqual(new URL(url).origin, new URL(suite.settings.baseUrl).origin, 'the origin of the result');
      expectStatus(answer, 200);
      expectHeader(answer, 'content-type', /^image\/(?:png|jpeg|webp)$/);
      expectThat(isPicture(answer.bytes), 'the bytes are not a picture');
    },
  },
  {
    id: 'IMG-4',
    title: 'results have the right type and state how long they may be cached',
    needs: ['image'],
    run: async (suite) => {
      const { url, answer } = await resultOf(suite);
      expectHeader(answer, 'cache-control');
      expectHeader(answer, 'x-content-type-options', 'nosniff');
      const name = url.slice(url.lastIndexOf('/') + 1);
      expectThat(name.length >= 20, `the name ${name} can be guessed`);
      const missing = await suite.call(url.replace(name, `A${name.slice(1).replace(/^./, 'A')}`), {
        key: null,
      });
      expectError(missing, { status: 404 });
    },
  },
  {
    id: 'IMG-5',
    title: 'model is required, of 1 to 128 characters',
    run: async (suite) => {
      await expectRefusals(
        suite,
        path,
        [
          { body: { prompt: 'x' } },
          ...['', 'm'.repeat(129), 7, null].map((model) => ({ body: bare({ model }) })),
        ],
        { ...invalid, param: 'model' },
      );
      await expectWellFormed(suite, path, [bare({ model: 'm'.repeat(128) })]);
    },
  },
  {
    id: 'IMG-6',
    title: 'prompt is required, of 1 to 262144 characters',
    run: async (suite) => {
      await expectRefusals(
        suite,
        path,
        [
          { body: { model: noSku } },
          ...['', 'p'.repeat(262_145), ['x']].map((prompt) => ({ body: bare({ prompt }) })),
        ],
        { ...invalid, param: 'prompt' },
      );
      await expectWellFormed(suite, path, [bare({ prompt: 'p'.repeat(262_144) })]);
    },
  },
  {
    id: 'IMG-7',
    title: 'a response_format other than url is 422 unsupported_response_format',
    needs: ['image'],
    run: async (suite) => {
      await expectRefusals(
        suite,
        path,
        ['b64_json', 'png', ''].map((format) => ({ body: imageBody(suite, { response_format: format }) })),
        { ...invalid, code: 'unsupported_response_format', param: 'response_format' },
      );
      await expectWellFormed(suite, path, [bare({ response_format: 'url' })]);
    },
  },
  {
    id: 'IMG-8',
    title: 'webhook_url goes with async=true only, and must be a public HTTPS address',
    needs: ['image'],
    run: async (suite) => {
      const wanted = { ...invalid, param: 'webhook_url' };
      const body = imageBody(suite, { webhook_url: 'https://example.com/hook' });
      expectError(await suite.call(path, { body }), wanted);
      await expectRefusals(
        suite,
        `${path}?async=true`,
        [
          'http://93.184.215.14/hook',
          'ftp://example.com/',
          'nonsense',
          '',
          'https://10.0.0.7/hook',
          'https://[fd00::7]/hook',
          'https://user:secret@example.com/',
          7,
        ].map((url) => ({ body: imageBody(suite, { webhook_url: url }) })),
        wanted,
      );
    },
  },
  {
    id: 'IMG-9',
    title: 'custom_data is echoed unchanged, without a webhook too',
    needs: ['image'],
    run: async (suite) => {
      const { created, job } = await asyncImage(suite);
      expectEqual(expectJson(created, 202)['custom_data'], customData, 'custom_data of the answer');
      expectEqual(job['custom_data'], customData, 'custom_data of the job');
    },
  },
  {
    id: 'IMG-10',
    title: 'custom_data is an object of at most 4096 bytes',
    run: async (suite) => {
      // {"k":"…"} has 8 bytes around its text; ü takes two.
      const ofBytes = (bytes: number) => ({ k: 'x'.repeat(bytes - 8) });
      await expectRefusals(
        suite,
        path,
        [ofBytes(4097), { k: 'ü'.repeat(2045) }, 'text', [1], 7].map((data) => ({
          body: bare({ custom_data: data }),
        })),
        { ...invalid, param: 'custom_data' },
      );
      await expectWellFormed(
        suite,
        path,
        [ofBytes(4096), {}].map((data) => bare({ custom_data: data })),
      );
    },
  },
  {
    id: 'IMG-11',
    title: 'the documented aspect ratios are accepted, and no others',
    run: async (suite) => {
      await expectWellFormed(
        suite,
        path,
        ratios.map((ratio) => bare({ aspect_ratio: ratio })),
      );
      await expectRefusals(
        suite,
        path,
        ['1:2', 'wide', ''].map((ratio) => ({ body: bare({ aspect_ratio: ratio }) })),
        {
          ...invalid,
          param: 'aspect_ratio',
        },
      );
    },
  },
  {
    id: 'IMG-12',
    title:
      'n may be left out or 1; unknown fields are ignored unless they look like known ones; size is WIDTHxHEIGHT',
    run: async (suite) => {
      await expectWellFormed(suite, path, [
        bare({ n: 1 }),
        bare({ quality: 'hd', style: 'vivid', x_unknown: { a: 1 } }),
        bare({ size: '1024x1536' }),
      ]);
      await expectRefusals(
        suite,
        path,
        [
          { body: bare({ n: 2 }), param: 'n' },
          { body: bare({ size: 'big' }), param: 'size' },
          { body: bare({ ratio: '9:16' }), param: 'ratio' },
          { body: bare({ aspectRatio: '9:16' }), param: 'aspectRatio' },
        ],
        invalid,
      );
    },
  },
  {
    id: 'IMG-13',
    title: 'image makes an edit: a data URI, alone or in an array',
    needs: ['image'],
    run: async (suite) => {
      await expectWellFormed(suite, path, [bare({ image: pngUri })]);
      const body = imageBody(suite, { prompt: 'Make it night.', image: [pngUri] });
      const { id } = expectJson(await postImage(suite, `${path}?async=true`, { body }), 202);
      const job = await endOfJob(suite, id);
      expectShape(job, members({ status: exactly('done') }), 'the edit');
    },
  },
  {
    id: 'IMG-14',
    title: 'an image that is not a public HTTPS address or an image data URI is 422 on image',
    needs: ['image'],
    run: async (suite) => {
      const bad = [
        'http://example.com/a.png',
        'https://10.0.0.7/a.png',
        'https://169.254.169.254/latest/meta-data',
        'file:///etc/passwd',
        'nonsense',
        'data:text/plain;base64,QUJD',
        'data:image/png;base64,QUJD',
        'data:image/png;base64,###',
      ];
      await expectRefusals(
        suite,
        path,
        bad.map((image) => ({ body: imageBody(suite, { image }) })),
        {
          ...invalid,
          param: 'image',
        },
      );
    },
  },
  {
    id: 'IMG-15',
    title: 'an empty image means text to image',
    needs: ['image'],
    run: async (suite) => {
      expectShape((await syncImage(suite)).job, members({ status: exactly('done') }), 'the job');
      await expectWellFormed(suite, path, [bare({ image: '' }), bare({ image: [] })]);
    },
  },
  {
    id: 'IMG-16',
    title: 'a failed image is a failed job with fixed text, without a charge',
    needs: ['image', 'sandbox'],
    run: async (suite) => {
      const { job } = await failedImage(suite);
      const error = job['error'] as JsonRecord;
      expectShape(error, members({ code: exactly('upstream_error'), message: filledText }), 'the error');
      expectThat(
        !/sandbox|stack|http/i.test(String(error['message'])),
        `the message is ${String(error['message'])}`,
      );
    },
  },
  {
    id: 'IMG-17',
    title: 'a refusal by content policy is content_policy_violation, without a charge',
    needs: ['image', 'sandbox'],
    run: async (suite) => {
      const body = imageBody(suite, { prompt: '[sandbox:moderated]' });
      const { id } = expectJson(await suite.call(path, { body }), 200);
      expectShape(
        await endOfJob(suite, id),
        members({
          status: exactly('failed'),
          error: members({ code: exactly('content_policy_violation'), message: filledText }),
          usage: members({ cost_usd: exactly('0.00') }),
        }),
        'the job',
      );
    },
  },
  {
    id: 'IMG-18',
    title: 'a balance that is too low is 402 insufficient_balance',
    needs: ['image', 'poor_key'],
    run: (suite) => expectTooDear(suite, path, imageBody(suite)),
  },
  {
    id: 'IMG-19',
    title: 'async is a boolean',
    run: async (suite) => {
      expectError(await suite.call(`${path}?async=perhaps`, { body: bare({}) }), {
        ...invalid,
        param: 'async',
      });
      await expectWellFormed(suite, `${path}?async=false`, [bare({})]);
    },
  },
  {
    id: 'IMG-20',
    title: 'an image that takes longer than the deadline returns 200 with the job as it stands, and goes on',
    needs: ['image', 'sandbox', 'deadline'],
    run: async (suite) => {
      const seconds = (suite.settings.deadlineSeconds ?? 0) + 2;
      const body = imageBody(suite, { prompt: `[sandbox:slow=${seconds}] [sandbox:fail]` });
      const answer = expectJson(await suite.call(path, { body }), 200);
      expectShape(answer, members({ id: uuid, status: oneOf('queued', 'running') }), 'the answer');
      expectEqual((await endOfJob(suite, answer['id']))['status'], 'failed', 'the end of the job');
    },
  },
  {
    id: 'IMG-21',
    title: 'the service fetches an image given by address',
    needs: ['image', 'webhook'],
    run: async (suite) => {
      const body = imageBody(suite, {
        prompt: 'Make it night.',
        image: suite.receiver?.pictureAddress('edit.png'),
      });
      const { id } = expectJson(await postImage(suite, `${path}?async=true`, { body }), 202);
      expectEqual((await endOfJob(suite, id))['status'], 'done', 'the end of the edit');
      expectThat((suite.receiver?.pictureFetches('edit.png') ?? 0) > 0, 'nobody fetched the image');
    },
  },
];
