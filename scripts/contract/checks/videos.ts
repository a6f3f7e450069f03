import {
  expectEqual,
  expectError,
  expectHeader,
  expectJson,
  expectStatus,
  expectThat,
} from '../assertions.ts';
import type { Check } from '../check.ts';
import { Skipped } from '../outcomes.ts';
import {
  asyncImage,
  completedVideo,
  endOfJob,
  failingVideo,
  makeVideo,
  noSku,
  noUuid,
  pngUri,
  videoBody,
  videoContent,
  videoSeconds,
  videoSku,
} from '../fixtures.ts';
import {
  count,
  envelope,
  exactly,
  expectShape,
  filledText,
  flag,
  integer,
  maybe,
  members,
  nothing,
  oneOf,
  orNull,
  timestamp,
  usd,
  uuid,
  type JsonRecord,
} from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { fromNano, toNano } from '../usd.ts';
import { expectRefusals, expectTooDear, expectWellFormed } from './refusals.ts';

const path = '/v1/videos';
const keptMs = 23 * 3_600_000;
const invalid = { status: 422, code: 'invalid_parameter', type: 'invalid_request_error' };
const prompt = { type: 'text', text: 'Waves.' };
const bare = (more: JsonRecord): JsonRecord => ({ model: noSku, content: [prompt], duration: 4, ...more });

const videoShape = members({
  id: uuid,
  object: exactly('video'),
  model: filledText,
  status: oneOf('queued', 'in_progress', 'completed', 'failed'),
  progress: count,
  created_at: timestamp,
  completed_at: orNull(timestamp),
  expires_at: orNull(timestamp),
  duration: integer,
  resolution: filledText,
  ratio: filledText,
  generate_audio: flag,
  output_format: oneOf('mp4', 'mov'),
  has_last_frame: flag,
  error: orNull(envelope),
  usage: members({ billed_seconds: count, balance_remaining_usd: usd, cost_usd: maybe(usd) }),
});

/** Selects the SKU with the contract's own rules of duration. The check is skipped if the account lacks it. */
const named = (suite: Suite, sku: string): JsonRecord => {
  const model = suite.models.find(({ id }) => id === sku);
  if (model === undefined) throw new Skipped(`the account has no ${sku}`);
  const rates = (model['pricing'] as { rates: JsonRecord[] }).rates;
  return { model: sku, content: [prompt], resolution: rates[0]?.['resolution'] };
};

const contentPath = (id: unknown, query = ''): string => `${path}/${String(id)}/content${query}`;

const brandOfContainer = (bytes: Buffer): string => bytes.subarray(8, 12).toString('latin1');
const isContainer = (bytes: Buffer): boolean => bytes.subarray(4, 8).toString('latin1') === 'ftyp';

/** Returns the completed video as a reference for others. */
const referenceVideo = async (suite: Suite): Promise<JsonRecord> => {
  const { bytes } = await videoContent(suite);
  return {
    type: 'video_url',
    video_url: { url: `data:video/mp4;base64,${bytes.toString('base64')}` },
    role: 'reference_video',
  };
};

export const videoChecks: readonly Check[] = [
  {
    id: 'VID-1',
    title: 'a create call returns 202 with the video resource',
    needs: ['video'],
    run: async (suite) => {
      const body = expectJson((await completedVideo(suite)).created, 202);
      expectShape(body, videoShape, 'the video');
      expectShape(
        body,
        members({ completed_at: nothing, expires_at: nothing, error: nothing }),
        'the new video',
      );
    },
  },
  {
    id: 'VID-2',
    title: 'a video is completed, with its content kept for 23 hours',
    needs: ['video'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      expectShape(video, videoShape, 'the video');
      expectEqual([video['status'], video['progress']], ['completed', 100], 'status and progress');
      expectEqual(
        Date.parse(String(video['expires_at'])) - Date.parse(String(video['completed_at'])),
        keptMs,
        'how long it is kept',
      );
    },
  },
  {
    id: 'VID-3',
    title: 'the price is the rate of a second times the duration',
    needs: ['video'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      expectShape(
        video['usage'],
        members({
          billed_seconds: exactly(videoSeconds),
          cost_usd: exactly(fromNano(toNano(videoSku(suite).priceUsd) * BigInt(videoSeconds))),
        }),
        'usage',
      );
    },
  },
  {
    id: 'VID-4',
    title: 'the content is an MP4 with its type, length and ETag',
    needs: ['video'],
    run: async (suite) => {
      const content = await videoContent(suite);
      expectStatus(content, 200);
      expectHeader(content, 'content-type', /^video\/mp4\b/);
      expectHeader(content, 'content-length', String(content.bytes.length));
      expectHeader(content, 'accept-ranges', 'bytes');
      expectHeader(content, 'etag');
      expectThat(
        isContainer(content.bytes) && brandOfContainer(content.bytes) !== 'qt  ',
        'it is not an MP4 file',
      );
    },
  },
  {
    id: 'VID-5',
    title: 'one byte range is answered 206 with exactly those bytes',
    needs: ['video'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      const { bytes } = await videoContent(suite);
      const size = bytes.length;
      const ranges: [string, number, number][] = [
        ['bytes=0-99', 0, 99],
        [`bytes=${size - 10}-`, size - 10, size - 1],
        ['bytes=-5', size - 5, size - 1],
        [`bytes=10-${size * 2}`, 10, size - 1],
      ];
      for (const [range, start, end] of ranges) {
        const part = await suite.call(contentPath(video['id']), { headers: { range } });
        expectStatus(part, 206);
        expectHeader(part, 'content-range', `bytes ${start}-${end}/${size}`);
        expectThat(part.bytes.equals(bytes.subarray(start, end + 1)), `the bytes of ${range} differ`);
      }
    },
  },
  {
    id: 'VID-6',
    title: 'a malformed or unsatisfiable range, or several ranges, is 416',
    needs: ['video'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      const { bytes } = await videoContent(suite);
      for (const range of [`bytes=${bytes.length}-`, 'bytes=0-1,4-5', 'bytes=9-2', 'bytes=x-y']) {
        const refused = await suite.call(contentPath(video['id']), { headers: { range } });
        expectError(refused, { status: 416, type: 'invalid_request_error' });
        expectHeader(refused, 'content-range', `bytes */${bytes.length}`);
      }
    },
  },
  {
    id: 'VID-7',
    title: 'variant=last_frame is an image if the video was made with return_last_frame',
    needs: ['video'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      expectEqual(video['has_last_frame'], true, 'has_last_frame');
      const frame = await suite.call(contentPath(video['id'], '?variant=last_frame'));
      expectStatus(frame, 200);
      expectHeader(frame, 'content-type', /^image\/(?:jpeg|png|webp)$/);
      expectError(await suite.call(contentPath(video['id'], '?variant=poster')), {
        ...invalid,
        param: 'variant',
      });
    },
  },
  {
    id: 'VID-8',
    title: 'output_format=mov gives a MOV file; without return_last_frame there is no last frame',
    needs: ['video'],
    run: async (suite) => {
      const body = videoBody(suite, { output_format: 'mov', generate_audio: false });
      const { video } = await makeVideo(suite, body);
      const { id } = video;
      expectShape(
        video,
        members({
          status: exactly('completed'),
          output_format: exactly('mov'),
          generate_audio: exactly(false),
        }),
        'the video',
      );
      const content = await suite.call(contentPath(id));
      expectStatus(content, 200);
      expectHeader(content, 'content-type', /^video\/quicktime\b/);
      expectThat(brandOfContainer(content.bytes) === 'qt  ', 'it is not a MOV file');
      expectError(await suite.call(contentPath(id, '?variant=last_frame')), { status: 404 });
    },
  },
  {
    id: 'VID-9',
    title: 'what was left out has its documented default',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const { resolution: _resolution, ...body } = videoBody(suite);
      expectShape(
        await failingVideo(suite, body),
        members({
          resolution: exactly('720p'),
          ratio: exactly('16:9'),
          generate_audio: exactly(true),
          output_format: exactly('mp4'),
          has_last_frame: exactly(false),
        }),
        'the video',
      );
    },
  },
  {
    id: 'VID-10',
    title: 'with an input image the ratio is adaptive by default',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const parts = [{ type: 'image_url', image_url: { url: pngUri }, role: 'first_frame' }];
      const byPart = await failingVideo(suite, videoBody(suite, { content: parts }));
      expectEqual(byPart['ratio'], 'adaptive', 'the ratio with a first frame in content');
      const byField = await failingVideo(suite, videoBody(suite, { content: [], image_url: pngUri }));
      expectEqual(byField['ratio'], 'adaptive', 'the ratio with image_url');
    },
  },
  {
    id: 'VID-11',
    title: 'ratio and aspect_ratio are one field',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const made = await failingVideo(suite, videoBody(suite, { content: [], aspect_ratio: '9:16' }));
      expectEqual(made['ratio'], '9:16', 'ratio');
      await expectRefusals(suite, path, [{ body: bare({ ratio: '1:1', aspect_ratio: '9:16' }) }], invalid);
      await expectWellFormed(suite, path, [bare({ ratio: '1:1', aspect_ratio: '1:1' })]);
    },
  },
  {
    id: 'VID-12',
    title: 'videomodel-2.0 makes 4 to 15 seconds, 5 by default',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const body = named(suite, 'videomodel-2.0');
      await expectRefusals(
        suite,
        path,
        [3, 16, -1, 4.5, '5'].map((duration) => ({ body: { ...body, duration } })),
        { ...invalid, param: 'duration' },
      );
      const { content: _content, ...rest } = body;
      expectEqual((await failingVideo(suite, rest))['duration'], 5, 'the default duration');
    },
  },
  {
    id: 'VID-13',
    title: 'videomodel-2.5 takes 4 to 30 seconds, or -1 with a reference video',
    needs: ['video'],
    run: async (suite) => {
      const body = named(suite, 'videomodel-2.5');
      await expectRefusals(
        suite,
        path,
        [undefined, 3, 31, 0, -1].map((duration) => ({
          body: duration === undefined ? body : { ...body, duration },
        })),
        { ...invalid, param: 'duration' },
      );
    },
  },
  {
    id: 'VID-14',
    title: 'with a reference video its seconds are billed too, and at least 5/3 of the output',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      if (videoSku(suite).withVideoPriceUsd === null)
        throw new Skipped('the cheapest SKU takes no reference video');
      const body = videoBody(suite, { content: [await referenceVideo(suite)] });
      const made = await failingVideo(suite, body);
      expectEqual(
        (made['usage'] as JsonRecord)['billed_seconds'],
        Math.max(2 * videoSeconds, Math.ceil((videoSeconds * 5) / 3)),
        'billed_seconds',
      );
      expectEqual(made['ratio'], 'adaptive', 'ratio');
    },
  },
  {
    id: 'VID-15',
    title: 'an edit keeps the length of its video, has an adaptive ratio, and is priced by its seconds',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const body = named(suite, 'videomodel-2.5');
      const reference = await referenceVideo(suite);
      const made = await failingVideo(suite, { ...body, content: [reference], duration: -1 });
      expectShape(
        made,
        members({
          duration: exactly(videoSeconds),
          ratio: exactly('adaptive'),
          usage: members({ billed_seconds: exactly(videoSeconds) }),
        }),
        'the edit',
      );
    },
  },
  {
    id: 'VID-16',
    title: 'wrong values are 422 and named; every documented field is accepted',
    needs: ['videos'],
    run: async (suite) => {
      await expectRefusals(
        suite,
        path,
        [
          { body: { content: [prompt] }, param: 'model' },
          { body: bare({ resolution: '8k' }), param: 'resolution' },
          { body: bare({ ratio: 'wide' }), param: 'ratio' },
          { body: bare({ generate_audio: 'yes' }), param: 'generate_audio' },
          { body: bare({ nsfw_check: 'yes' }), param: 'nsfw_check' },
          { body: bare({ return_last_frame: 1 }), param: 'return_last_frame' },
          { body: bare({ seed: 'x' }), param: 'seed' },
          { body: bare({ content: [{ type: 'smell' }] }), param: 'content' },
          { body: bare({ webhook_url: 'https://example.com/hook' }), param: 'webhook_url' },
        ],
        invalid,
      );
      await expectWellFormed(suite, path, [
        bare({
          seed: 7,
          resolution: '1080p',
          ratio: 'adaptive',
          generate_audio: false,
          nsfw_check: true,
          return_last_frame: true,
          output_format: 'mov',
        }),
        bare({
          image_url: 'https://example.com/a.png',
          last_frame_image_url: 'https://example.com/b.png',
          reference_image_urls: ['https://example.com/c.png'],
        }),
        bare({ resolution: '4k', x_unknown: 1 }),
      ]);
    },
  },
  {
    id: 'VID-17',
    title: 'inputs must be public HTTPS addresses or data URIs of their kind; anything else is 422',
    needs: ['video'],
    run: async (suite) => {
      const bad = ['http://example.com/a.png', 'https://10.0.0.7/a.png', 'data:text/plain;base64,QUJD'];
      await expectRefusals(
        suite,
        path,
        bad.map((url) => ({ body: videoBody(suite, { image_url: url }) })),
        { ...invalid, param: 'image_url' },
      );
    },
  },
  {
    id: 'VID-18',
    title: 'a failed video has an error and no charge, and its content is 409',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const content = [{ type: 'text', text: '[sandbox:fail]' }];
      const { video } = await makeVideo(suite, videoBody(suite, { content }));
      expectShape(
        video,
        members({
          status: exactly('failed'),
          error: envelope,
          completed_at: nothing,
          usage: members({ cost_usd: exactly('0.00') }),
        }),
        'the failed video',
      );
      expectError(await suite.call(contentPath(video['id'])), { status: 409 });
    },
  },
  {
    id: 'VID-19',
    title: 'a refused request fails with a content-policy error at no charge',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const body = videoBody(suite, {
        content: [{ type: 'text', text: '[sandbox:moderated]' }],
        nsfw_check: true,
      });
      const { video } = await makeVideo(suite, body);
      expectShape(
        video,
        members({
          status: exactly('failed'),
          error: members({ code: exactly('content_policy_violation'), message: filledText }),
          usage: members({ cost_usd: exactly('0.00') }),
        }),
        'the video',
      );
    },
  },
  {
    id: 'VID-20',
    title: 'the content of a video that is not completed is 409',
    needs: ['video', 'sandbox'],
    run: async (suite) => {
      const content = [{ type: 'text', text: '[sandbox:slow=3] [sandbox:fail]' }];
      await makeVideo(suite, videoBody(suite, { content }), async (id) => {
        expectError(await suite.call(contentPath(id)), { status: 409, type: 'invalid_request_error' });
      });
    },
  },
  {
    id: 'VID-21',
    title: 'an unknown video id is 404, also the id of another kind of job',
    needs: ['videos', 'image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      for (const id of [noUuid, 'nonsense', String(job['id'])])
        for (const address of [`${path}/${id}`, contentPath(id)])
          expectError(await suite.call(address), { status: 404, code: 'video_not_found' });
    },
  },
  {
    id: 'VID-22',
    title: "another account's video is 404",
    needs: ['video', 'other_key'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      const key = suite.settings.otherKey;
      for (const address of [`${path}/${String(video['id'])}`, contentPath(video['id'])])
        expectError(await suite.call(address, { key }), { status: 404, code: 'video_not_found' });
    },
  },
  {
    id: 'VID-23',
    title: 'a video is also a job, and is in the history with its kind',
    needs: ['video'],
    run: async (suite) => {
      const { video } = await completedVideo(suite);
      const job = expectJson(await suite.call(`/v1/jobs/${String(video['id'])}`), 200);
      expectShape(job, members({ id: exactly(video['id']), status: exactly('done') }), 'the job');
      const { data } = expectJson(await suite.call('/v1/jobs?limit=100'), 200);
      const item = (data as JsonRecord[]).find(({ id }) => id === video['id']);
      expectShape(
        item,
        members({
          kind: exactly('video'),
          charged_usd: exactly((video['usage'] as JsonRecord)['cost_usd']),
        }),
        'the history item',
      );
    },
  },
  {
    id: 'VID-24',
    title: 'a balance that is too low is 402',
    needs: ['video', 'poor_key'],
    run: (suite) => expectTooDear(suite, path, videoBody(suite)),
  },
  {
    id: 'VID-25',
    title: 'too many active videos are 429 with Retry-After',
    needs: ['video', 'sandbox', 'rate_limit'],
    isExclusive: true,
    run: async (suite) => {
      const most = 12;
      const content = [{ type: 'text', text: '[sandbox:slow=2] [sandbox:fail]' }];
      const made: unknown[] = [];
      for (let number = 1; number <= most; number += 1) {
        const answer = await suite.call(path, { body: videoBody(suite, { content }) });
        if (answer.status === 202) {
          made.push(expectJson(answer, 202)['id']);
          continue;
        }
        expectError(answer, { status: 429, code: 'too_many_active_jobs', type: 'rate_limit_exceeded' });
        expectThat(Number(expectHeader(answer, 'retry-after')) >= 1, 'Retry-After is below a second');
        // Waits until their holds are released, so that the account is as before.
        for (const id of made) await endOfJob(suite, id);
        return;
      }
      throw new Skipped(`the account may have more than ${most} videos in progress`);
    },
  },
];
