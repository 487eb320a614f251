"""The pages of Sakura and the posts that change something."""

from django.urls import path

from agents.views import accounts, board, repositories, reviews, runs, settings, tasks

urlpatterns = [
    path("", board.board, name="board"),
    path("login/", accounts.login, name="login"),
    path("login/<str:secret>/", accounts.login_link, name="login_link"),
    path("logout/", accounts.logout, name="logout"),
    path("demo/", tasks.demo, name="demo"),
    path("settings/", settings.settings, name="settings"),
    path("settings/password/", settings.password_set, name="password_set"),
    path("settings/tokens/", settings.token_make, name="token_make"),
    path("settings/tokens/<int:pk>/delete/", settings.token_delete, name="token_delete"),
    path("settings/users/", settings.user_save, name="user_save"),
    path("repositories/", repositories.repositories, name="repositories"),
    path("repositories/add/", repositories.add, name="repository_add"),
    path("repositories/<int:pk>/", repositories.repository, name="repository"),
    path("repositories/<int:pk>/refresh/", repositories.refresh, name="repository_refresh"),
    path("repositories/<int:pk>/cancel/", repositories.cancel, name="repository_cancel"),
    path("repositories/<int:pk>/delete/", repositories.delete, name="repository_delete"),
    path("tasks/new/", tasks.new, name="task_new"),
    path("tasks/preview/", tasks.preview, name="task_preview"),
    path("tasks/<int:pk>/", tasks.task, name="task"),
    path("tasks/<int:pk>/runs/", tasks.run_again, name="task_run"),
    path("runs/<int:pk>/", runs.run, name="run"),
    path("runs/<int:pk>/events/", runs.events, name="run_events"),
    path("runs/<int:pk>/calls/<int:seq>/", runs.call, name="run_call"),
    path("runs/<int:pk>/outputs/<str:ref>/", runs.output, name="run_output"),
    path("runs/<int:pk>/messages/", runs.message, name="run_message"),
    path("runs/<int:pk>/pause/", runs.pause, name="run_pause"),
    path("runs/<int:pk>/resume/", runs.resume, name="run_resume"),
    path("runs/<int:pk>/cancel/", runs.cancel, name="run_cancel"),
    path("runs/<int:pk>/retry/", runs.retry, name="run_retry"),
    path("runs/<int:pk>/review/", reviews.review, name="review"),
    path("runs/<int:pk>/comments/", reviews.comment, name="comment"),
    path("runs/<int:pk>/comments/<int:comment>/delete/", reviews.comment_delete, name="comment_delete"),
    path("runs/<int:pk>/reverts/", reviews.revert, name="revert"),
    path("runs/<int:pk>/decide/", reviews.decide, name="decide"),
    path("runs/<int:pk>/push/", reviews.push, name="push"),
    path("runs/<int:pk>/patch/", reviews.patch, name="patch"),
]
