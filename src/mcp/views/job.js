import { begin, callTool, host, link, make, metaOf, refusalOf, say, show } from './bridge.js';

const firstWaitMs = 3_000;
const longestWaitMs = 15_000;
/** At the longest wait these take six hours, in which each job has ended. */
const maxReads = 1_500;
const maxFailures = 3;
const endings = ['done', 'completed', 'failed'];

let prompt = '';
let reads = 0;
let failures = 0;

/** Describes the state, the model and the price in one line. */
const describe = ({ status, model, progress, usage = {}, metadata }, result) => {
  const states = { queued: 'Waiting for its turn', failed: 'Failed', done: 'Done', completed: 'Done' };
  const { cost_usd: cost } = usage;
  const hold = metaOf(result, 'hold-usd');
  const price = cost === undefined ? hold && `at most $${hold}` : `$${cost}`;
  return [
    states[status] ?? (progress > 0 ? `Working, ${progress} %` : 'Working'),
    model,
    Number(cost) === 0 ? 'not charged' : price,
    metadata?.sandbox === true && 'made by a sandbox',
  ]
    .filter(Boolean)
    .join(' · ');
};

/** Without a number, the bar says only that there is work. */
const progressOf = (percent) =>
  make('progress', { ariaLabel: 'Progress', ...(percent > 0 ? { max: 100, value: percent } : {}) });

const mediaOf = ({ data = [], film_url: film }) => [
  ...data.map(({ url, revised_prompt: revised }) =>
    make('img', { src: url, alt: (revised ?? prompt) || 'The picture' }),
  ),
  ...(film ? [make('video', { src: film, controls: true, playsInline: true })] : []),
];

const linksOf = ({ data = [], film_url: film }) =>
  [film, ...data.map(({ url }) => url)].filter(Boolean).map((url) => link(url, 'Open'));

const showJob = (result) => {
  const refusal = refusalOf(result);
  if (refusal !== null) return show(say(refusal, 'bad'));
  const job = result.structuredContent;
  const status = say(describe(job, result));
  if (endings.includes(job.status))
    return show(
      ...mediaOf(job),
      status,
      job.error ? say(job.error.message, 'bad') : '',
      make('div', { className: 'bar' }, ...linksOf(job)),
    );
  show(status, progressOf(job.progress));
  // The view of a reading shows what was read; that of the job's begin follows it.
  if (!host.context.toolInfo?.tool?.name?.startsWith('get_')) readLater(job);
};

const readLater = (job) => {
  if (!host.capabilities.serverTools || reads >= maxReads || failures >= maxFailures)
    return show(say(`Job ${job.id} goes on. Ask the assistant for its result.`));
  setTimeout(() => read(job), Math.min(longestWaitMs, firstWaitMs * 1.2 ** reads));
  reads += 1;
};

const read = async (job) => {
  const [tool, field] = job.object === 'video' ? ['get_video', 'video_id'] : ['get_job', 'job_id'];
  try {
    const result = await callTool(tool, { [field]: job.id });
    failures = 0;
    showJob(result);
  } catch {
    failures += 1;
    readLater(job);
  }
};

const showInput = (input) => {
  prompt = String(input.prompt ?? '').slice(0, 300);
  show(say('Working', 'soft'), progressOf());
};

void begin('job', showJob, showInput);
