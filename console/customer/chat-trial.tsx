import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isJudgement } from '../api.ts';
import { costText, hasEnded, type JobAnswer } from '../parts/outcome.tsx';
import { JobLink } from '../parts/history.tsx';
import { Problem, readFields } from '../parts/parts.tsx';
import { readEvents } from '../read-events.ts';
import { useAction, useConsole, useLoad } from '../use-console.ts';
import { CodeSamples } from './code-samples.tsx';

interface Message {
  role: 'user' | 'assistant';
  content: string;
  /** The model that made it. */
  model?: string;
}

interface Chunk {
  id: string;
  choices: { delta: { content?: string | null } }[];
  error?: { message: string };
}

/** What the interface takes of a message. */
const toSent = ({ role, content }: Message) => ({ role, content });

const jobOf = (id: string): string => id.replace(/^chatcmpl-/, '');

const Cost = ({ jobId }: { jobId: string }) => {
  const { data } = useLoad<JobAnswer>(`v1/jobs/${jobId}`, { everyMs: 3_000, isLast: hasEnded });
  return (
    <p class="soft">
      {costText(data)} Job <JobLink id={jobId} />
    </p>
  );
};

const path = '/v1/chat/completions';

/** A conversation with a model, whose answers arrive piece by piece. */
export const ChatTrial = ({ model }: { model: string }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const [jobId, setJobId] = useState<string | null>(null);
  const [isRefused, setRefused] = useState(false);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);

  /** `giveBack` undoes what was sent, where no answer came. */
  const stream = async (asked: readonly Message[], giveBack: () => void): Promise<void> => {
    const stopping = new AbortController();
    stop.current = stopping;
    const body = { model, messages: asked.map(toSent), stream: true };
    let content = '';
    try {
      const answer = await api.open(path.slice(1), { body, signal: stopping.signal });
      for await (const data of readEvents(answer)) {
        const { id, choices, error } = JSON.parse(data) as Chunk;
        if (error !== undefined) throw new ApiError(answer.status, error.message);
        content += choices[0]?.delta.content ?? '';
        setJobId(jobOf(id));
        setMessages([...asked, { role: 'assistant', content, model }]);
      }
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (content === '') giveBack();
      setRefused(error instanceof ApiError && isJudgement(error.status));
      throw error;
    }
  };

  const send = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem('text') as HTMLTextAreaElement;
    const { text = '' } = readFields(event);
    if (text === '') return;
    const asked = [...messages, { role: 'user', content: text } as const];
    setMessages(asked);
    setJobId(null);
    setRefused(false);
    form.reset();
    void run(() =>
      stream(asked, () => {
        setMessages(messages);
        field.value ||= text;
      }),
    );
  };

  return (
    <>
      <ol class="chat" aria-live="polite" aria-busy={isBusy}>
        {messages.map(({ role, content, model: maker }, index) => (
          <li key={index} class={role}>
            <strong>{maker ?? 'You'}</strong>
            <p>{content}</p>
          </li>
        ))}
      </ol>
      <Problem text={problem} />
      {isRefused && <p class="soft">Nothing was charged.</p>}
      {jobId !== null && !isBusy && <Cost jobId={jobId} />}
      <form class="ask" onSubmit={send}>
        <label class="field">
          <span>Your message</span>
          <textarea name="text" rows={3} required />
        </label>
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            Send
          </button>
          <button type="button" disabled={!isBusy} onClick={() => stop.current?.abort()}>
            Stop
          </button>
          <button type="button" disabled={isBusy} onClick={() => setMessages([])}>
            Begin anew
          </button>
        </div>
      </form>
      <CodeSamples
        path={path}
        method="chat.completions.create"
        body={{
          model,
          messages: messages.length === 0 ? [{ role: 'user', content: 'Hello' }] : messages.map(toSent),
        }}
      />
    </>
  );
};
